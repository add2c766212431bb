#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/fixed_point.h"

// The vector kernels, chosen at run time for the processor. Every target gives the same bits: integers are exact, and
// float sums are one chain of fused multiply-adds per output in a fixed order.

namespace carina::interpret::simd {

inline constexpr int64_t kLanes = 16;  // channels are padded to a multiple of this where buffers are ours
inline int64_t padded(int64_t channels) {
  return (channels + kLanes - 1) / kLanes * kLanes;
}

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

// --- products of int8 matrices: C[m][n] = sum over k of A[m][k] B[k][n], exact modulo 2^32
// -------------------------------

// How rows of A must stand for this processor: elements of 1 or 2 bytes, the row padded with zeros to `k_step`
// elements.
struct MatrixFormat {
  int64_t k_step;
  size_t a_bytes;  // of an element
  [[nodiscard]] size_t row_bytes(int64_t k) const {
    return static_cast<size_t>((k + k_step - 1) / k_step * k_step) * a_bytes;
  }
  // Of B: panels of kLanes columns.
  [[nodiscard]] size_t panel_bytes(int64_t k) const {
    return static_cast<size_t>((k + k_step - 1) / k_step * k_step) * kLanes * a_bytes;
  }
};
MatrixFormat matrix_format();

// Writes B, whose element (k, n) stands at b[k * stride_k + n * stride_n], as padded(n) / kLanes panels.
void pack_matrix(const int8_t* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, std::byte* panels);
// Copies `count` elements into a row of A (converted to its format).
void pack_row(const int8_t* in, int64_t count, std::byte* out);
// The sum of the elements of each row.
void row_sums(const std::byte* a, size_t row_bytes, int64_t rows, int64_t k, int32_t* sums);

struct ByteSums {
  int64_t sum = 0;
  int64_t magnitude = 0;  // of the absolute values
};
ByteSums byte_sums(const int8_t* in, int64_t count);

struct MatrixJob {
  const std::byte* a;
  size_t row_bytes;
  int64_t rows;
  int64_t k;
  const std::byte* panels;  // the first of those wanted
  int64_t panel_count;
  const int32_t* sums;  // row_sums(); needed when matrix_needs_sums()
  int32_t* c;           // kLanes * panel_count columns
  int64_t c_stride;
};
bool matrix_needs_sums();
void multiply(const MatrixJob& job);
inline constexpr int64_t kMaxPanels = 4;  // of one job

// --- the same for fp32; B is [k][kLanes] per panel
// ------------------------------------------------------------------------

void pack_matrix_f32(const float* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, float* panels);
struct MatrixJobF32 {
  const float* a;
  int64_t row_stride;  // elements
  int64_t rows;
  int64_t k;
  const float* panels;
  int64_t panel_count;
  float* c;
  int64_t c_stride;
};
void multiply_f32(const MatrixJobF32& job);
// out[r][c] = min(max(in[r][c] + column[c], low), high) for `channels`; a NaN stays.
struct FinishF32 {
  const float* in;
  int64_t in_stride;
  float* out;
  int64_t out_stride;
  int64_t rows;
  int64_t channels;
  const float* column;
  float low;
  float high;
};
void finish_f32(const FinishF32& job);

// --- depthwise: one output pixel from its taps
// ---------------------------------------------------------------------------

// Weights [taps][channels], zero point taken off, for depthwise_i8: pairs of taps side by side. Elements: pairs(taps) *
// padded(channels).
inline int64_t pairs(int64_t taps) {
  return (taps + 1) / 2;
}
void pack_depthwise(const int16_t* weights, int64_t taps, int64_t channels, int32_t* packed);
// acc[p][c] = sum over taps of x[p * taps + t][c] * weight[t][c], for `pixels` pixels whose inputs stand at x.
struct DepthwiseI8 {
  const int8_t* const* x;
  const int32_t* packed;
  int64_t taps;
  int64_t channels;
  int64_t pixels;
  int32_t* acc;  // rows of padded(channels)
};
void depthwise_i8(const DepthwiseI8& job);
struct DepthwiseF32 {
  const float* const* x;
  const float* weights;  // [taps][channels]
  int64_t taps;
  int64_t channels;
  int64_t pixels;
  const float* bias;  // per channel
  float low;
  float high;
  float* out;  // rows of `channels`
};
void depthwise_f32(const DepthwiseF32& job);

// --- moves
// -------------------------------------------------------------------------------------------------------------------

// out[c * out_stride + r] = in[r * in_stride + c]; rows and columns are at least kTransposeTile.
inline constexpr int64_t kTransposeTile = 16;
struct TransposeBytes {
  const uint8_t* in;
  int64_t in_stride;
  uint8_t* out;
  int64_t out_stride;
  int64_t rows;
  int64_t columns;
};
void transpose_bytes(const TransposeBytes& job);

}  // namespace carina::interpret::simd
