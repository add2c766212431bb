#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simd/extremes.h"
#include "simd/int8_kernels.h"
#include "tensor/dtype.h"
#include "tensor/fixed_point.h"

// The vector kernels, chosen at run time for the processor. Every target gives the same bits: integers are exact, and
// float sums are one chain of fused multiply-adds per output in a fixed order.

namespace carina::simd {

// RESCALE's factors, spread for vectors: entry c of each list for channel c, padded; one factor for all is repeated.
struct Scales {
  bool per_channel = false;
  bool doubled = false;  // DOUBLE_ROUND with a shift over 31 somewhere
  bool plain = false;    // nothing is left to do after shifting but what a saturating conversion does; see settle()
  int32_t input_zp = 0;
  int32_t output_zp = 0;
  int32_t low = 0;  // of the output, after adding output_zp
  int32_t high = 0;
  std::vector<int32_t> multiplier;
  std::vector<int64_t> shift_even;  // of channels 0, 2, 4, ...
  std::vector<int64_t> shift_odd;
  std::vector<int64_t> round_even;  // 2^(shift - 1)
  std::vector<int64_t> round_odd;
  std::vector<int64_t> extra_even;  // what DOUBLE_ROUND adds away from zero
  std::vector<int64_t> extra_odd;
};
// Nothing when an element could break a REQUIRE, given that inputs minus zero point are in [-bound - 1, bound]: then
// the plain kernel must look at each. `multiplier` and `shift` have one entry or one per channel.
struct ScaleRequest {
  std::span<const int32_t> multiplier;
  std::span<const int8_t> shift;
  Rounding rounding;
  int64_t bound;
  int64_t channels;
};
std::optional<Scales> make_scales(const ScaleRequest& request);
// Once the zero points and bounds are known: where it cannot overflow, `output_zp` becomes part of what is added for
// rounding, which gives the same since it is a whole multiple of 2^shift.
void settle(Scales& scales, DType out_type);

// The same as bytes are made of sums; nothing when it must be done otherwise. `column` is added to the sums.
std::optional<Int8Epilogue> int8_epilogue(const Scales& scales, DType out_type, std::span<const int32_t> column);

// out[r][c] = clamp(scale(in[r][c] + column[c] - input_zp) + output_zp) (column null: nothing added): rows x channels,
// each row `stride` elements after the last. Types: i8, i16, i32 on both sides. Channels start at `first`, a multiple
// of kLanes.
struct ScaleRows {
  const Scales& scales;
  DType in_type;
  DType out_type;
  const void* in;
  void* out;
  int64_t in_stride;
  int64_t out_stride;
  int64_t rows;
  int64_t first;
  int64_t channels;                 // from `first` on
  const int32_t* column = nullptr;  // of channel 0 on, padded
};
void scale_rows(const ScaleRows& job);

// a[i] = a[i] op b[i]; results must fit.
enum class Combine { kAdd, kSub, kMul };
void combine_i32(Combine op, int32_t* a, const int32_t* b, int64_t count);

// acc[r][c] -= factor * row_sums[r], in place; wraps.
struct RowTerms {
  int32_t* acc;
  int64_t stride;
  int64_t rows;
  int64_t channels;
  int32_t factor;
  const int32_t* row_sums;
};
void take_row_terms(const RowTerms& job);

struct ByteSums {
  int64_t sum = 0;
  int64_t magnitude = 0;  // of the absolute values
};
ByteSums byte_sums(const int8_t* in, int64_t count);

// --- products of fp32 matrices; B is [k][kLanes] per panel

void pack_matrix_f32(const float* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, float* panels);
// out[r][c] = min(max(in[r][c] + column[c], low), high) for `channels`; a NaN stays. What is written is added to
// `extremes` if there are some.
struct EpilogueF32 {
  const float* in;
  int64_t in_stride;
  float* out;
  int64_t out_stride;
  int64_t rows;
  int64_t channels;
  const float* column;
  float low;
  float high;
  Extremes* extremes = nullptr;
  // Products and depthwise only: `out` leaves the caches before it is read, so its lines are not brought in to be
  // written. It and its rows begin at multiples of kLineBytes, and flush_streams() comes after.
  bool streams = false;
};
inline constexpr size_t kLineBytes = 64;
void flush_streams();
void run_epilogue_f32(const EpilogueF32& job);
// C = A * B; where it is to be finished, C only serves while it is computed, and `epilogue` says what becomes of it (but
// for its `in` and `rows`).
struct MatrixJobF32 {
  const float* a;
  int64_t row_stride;  // elements
  int64_t rows;
  int64_t k;
  const float* panels;
  int64_t panel_count;
  float* c;
  int64_t c_stride;
  const EpilogueF32* epilogue = nullptr;
  // What the results do not depend on. `next_panels`: the weights that are read after these, if these and those come from
  // behind the second-level cache, else null. `rows_are_far`: the same of A.
  const float* next_panels = nullptr;
  bool rows_are_far = false;
};
void multiply_f32(const MatrixJobF32& job);

// --- Winograd's F(4x4, 3x3) and F(2x2, 3x3): `outputs` is 4 or 2, tiles have two pixels more along an axis, and places as
// many as pixels; channels are multiples of kLanes

// B^T x B of a tile of pixels, per channel: place p of the result at out + p * stride.
struct WinogradTile {
  int64_t outputs;
  const float* const* x;  // pixels, row by row
  int64_t channels;
  float* out;
  int64_t stride;
};
void transform_winograd(const WinogradTile& job);
// A^T m A of the products of a tile's places, p at products + p * stride, then as EpilogueF32.
struct WinogradEpilogue {
  int64_t outputs;
  const float* products;
  int64_t stride;
  int64_t channels;
  const float* bias;
  float low;
  float high;
  float* const* out;  // pixels; null: outside
  Extremes* extremes;
};
void winograd_epilogue(const WinogradEpilogue& job);
// G w G^T, per input channel, of one output channel's weights [3][3][channels]: place p at out + p * stride.
struct WinogradWeights {
  int64_t outputs;
  const float* weights;
  int64_t channels;
  float* out;
  int64_t stride;
};
void transform_winograd_weights(const WinogradWeights& job);

// --- depthwise: one output pixel from its taps
// ---------------------------------------------------------------------------

struct DepthwiseF32 {
  const float* const* x;
  const float* weights;  // [taps][channels]
  int64_t taps;
  int64_t channels;
  int64_t pixels;
  const float* bias;  // per channel
  float low;
  float high;
  float* out;                    // rows of `channels`
  Extremes* extremes = nullptr;  // what is written is added to them
  bool streams = false;          // as EpilogueF32's
};
void depthwise_f32(const DepthwiseF32& job);

// --- element by element
// ---------------------------------------------------------------------------------------------

// Rows of fp32, `stride` elements apart; each is one element for all columns where it `repeats`.
struct RowsF32 {
  const float* data;
  int64_t stride;
  bool repeats;
};
// out[r][c] = a[r][c] op b[r][c]; `out` is dense, and may be an operand that is dense too.
struct CombineF32 {
  Combine op;
  RowsF32 a;
  RowsF32 b;
  float* out;
  int64_t rows;
  int64_t columns;
};
void combine_f32(const CombineF32& job);

// out[r] = 0 + in[r][0] + in[r][1] + ..., in this order.
struct SumRowsF32 {
  const float* in;  // dense
  int64_t rows;
  int64_t length;
  float* out;
};
void sum_rows_f32(const SumRowsF32& job);

// out[i] = function(in[i]), with the bits of the functions of float_math; `out` may be `in`.
enum class Function : uint8_t { kExp, kLog, kSin, kCos, kTanh, kSigmoid, kErf, kRsqrt };
void apply(Function function, const float* in, float* out, int64_t count);

// --- moves
// -------------------------------------------------------------------------------------------------------------------

// out[c * out_stride + r] = in[r * in_stride + c]; rows and columns are at least kTransposeTile.
inline constexpr int64_t kTransposeTile = 16;
template <typename T>
struct Transpose {
  const T* in;
  int64_t in_stride;
  T* out;
  int64_t out_stride;
  int64_t rows;
  int64_t columns;
};
void transpose(const Transpose<uint8_t>& job);
void transpose(const Transpose<uint32_t>& job);

// --- channels of DepthwiseBytes
// ------------------------------------------------------------------------------------------

// Channels of the next block when so many are left.
inline int64_t byte_block(int64_t left) {
  return left > 32 ? 64 : left > 16 ? 32 : 16;
}

}  // namespace carina::simd
