#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "carina/dtype.h"
#include "kernels/micro/extremes.h"
#include "kernels/micro/microkernels_i8.h"
#include "tensor/fixed_point.h"

// The vector kernels, selected at run time for the processor. Every target computes the same bits: integers are exact,
// and each float output is one chain of fused multiply-adds in a fixed order.

namespace carina::kernels {

// The factors of a RESCALE as vectors: entry c of each list is for channel c, with padding. A single factor is
// repeated. All shifts end in the upper half of a 64-bit product, since few processors shift 64-bit vectors with sign:
//   value * multiplier >> shift == ((value << before) * multiplier >> 32) >> after, before - after = 32 - shift.
// The REQUIRE |value| < 2^(shift - 1) keeps value << before within 32 bits.
struct Scales {
  bool per_channel = false;
  bool doubled = false;  // DOUBLE_ROUND, and some shift is above 31
  bool plain = false;    // after the shift, a saturating conversion is enough; see settle()
  // The scale is 2^left_shift and no bit is shifted out: it rounds nothing. Of one factor only.
  std::optional<int32_t> left_shift;
  // round(value * factor + addend), in floats, has the same results for all values that are allowed. Of one factor,
  // from i32 to i8 only.
  struct InFloats {
    float factor;
    float addend;
  };
  std::optional<InFloats> in_floats;
  int64_t bound = 0;  // inputs minus zero point are in [-bound - 1, bound]
  int32_t input_zp = 0;
  int32_t output_zp = 0;
  int32_t low = 0;  // of the output, after adding output_zp
  int32_t high = 0;
  std::vector<int32_t> multiplier;
  std::vector<int32_t> before;
  std::vector<int32_t> after;
  std::vector<int64_t> round_even;  // 2^(31 + after), of channels 0, 2, 4, ...
  std::vector<int64_t> round_odd;
  std::vector<int64_t> extra_even;  // the addend of DOUBLE_ROUND away from zero
  std::vector<int64_t> extra_odd;
};
// Makes the factors for inputs minus zero point in [-bound - 1, bound]. Returns nothing if an element could break a
// REQUIRE; the plain kernel must then check each element. `multiplier` and `shift` have one entry or one per channel.
struct ScaleRequest {
  std::span<const int32_t> multiplier;
  std::span<const int8_t> shift;
  Rounding rounding;
  int64_t bound;
  int64_t channels;
};
std::optional<Scales> make_scales(const ScaleRequest& request);
// Finds `in_floats` of a RESCALE of i32 to i8 that is not settled, with the whole range of i8.
void find_float_form(Scales& scales);
// Completes the factors once the zero points and bounds are known. If it cannot overflow, `output_zp` becomes part of
// the rounding addend. The result is the same, since it is added as a multiple of 2^shift.
void settle(Scales& scales, DType out_type);

// The same factors as an Int8Epilogue. Returns nothing if that form does not apply. `column` is added to the sums.
std::optional<Int8Epilogue> int8_epilogue(const Scales& scales, DType out_type, std::span<const int32_t> column);

// out[r][c] = clamp(scale(in[r][c] + column[c] - input_zp) + output_zp) for rows x channels; if `column` is nullptr,
// nothing is added. Rows are `stride` elements apart. Both types are i8, i16 or i32. Channels start at `first`, a
// multiple of kLanes.
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
  const int32_t* column = nullptr;  // from channel 0, padded
};
void scale_rows(const ScaleRows& job);

// out[r][c] = clamp(requantized(in[r][c] + column[c]) + zero_point). The requantization is that of CMSIS-NN's
// arm_nn_requantize, with the channel's multiplier and right shift (0 to 31). Sums are below 2^30. `in` and the arrays
// of channels may be read up to the next multiple of kRequantizeLanes.
struct Requantize {
  const int32_t* in;
  int64_t in_stride;
  int64_t rows;
  int64_t channels;
  const int32_t* column;
  const int32_t* multiplier;
  const int32_t* right_shift;
  int32_t zero_point, low, high;
  int8_t* out;
  int64_t out_stride;
};
void requantize(const Requantize& job);
inline constexpr int64_t kRequantizeLanes = 16;

// out[i] = clamp(round to even(in[i] * inverse_scale) + zero_point). NaN is replaced by 0 before the clamp.
struct QuantizeFloats {
  const float* in;
  int8_t* out;
  int64_t count;
  float inverse_scale, zero_point, low, high;
};
void quantize_floats(const QuantizeFloats& job);

// out[r][c] = clamp(scaled(in[r][c]) + zero_point) for rows of 48-bit values, which are dense; `scaled` is TOSA's
// apply_scale_16. Factors are per channel, or one for all: a multiplier of 15 bits that is not negative, and a shift of
// 2 to 62. Returns false if a scaled value does not fit 32 bits; the output is then meaningless.
struct RescaleI48 {
  const int64_t* in;
  void* out;
  DType out_type;  // i8, i16 or i32
  int64_t rows;
  int64_t channels;
  bool per_channel;
  const int64_t* multiplier;
  const int64_t* shift;
  int64_t zero_point, low, high;
};
bool rescale_i48(const RescaleI48& job);

// Returns whether rows of operands follow each other without gaps, or repeat one value, so that they are one long row.
template <typename... Operand>
bool are_one_row(int64_t columns, const Operand&... operands) {
  const auto is_one_row = [&](const auto& rows) {
    if constexpr (requires { rows.repeats; }) return rows.stride == (rows.repeats ? 0 : columns);
    return rows.stride == columns;
  };
  return (is_one_row(operands) && ...);
}

// Rows of i8, i16 or i32, `stride` elements apart. Narrow elements stand for (element - zero_point) << left_shift.
struct NarrowRows {
  const void* data;
  DType type;
  int64_t stride;
  int32_t zero_point = 0;
  int32_t left_shift = 0;
};
// Rows of i32. If `repeats`, a row is one element for all columns.
struct RowsI32 {
  const int32_t* data;
  int64_t stride;
  bool repeats;
};
// out[r][c] = a[r][c] op b[r][c], which must fit. kSubFrom is b - a; kSquare is a * a, and reads b without need of it.
// `out` is dense.
enum class CombineIntegers { kAdd, kSub, kSubFrom, kMul, kSquare };
struct CombineI32 {
  CombineIntegers op;
  NarrowRows a;
  RowsI32 b;
  int32_t* out;
  int64_t rows;
  int64_t columns;
};
void combine_i32(const CombineI32& job);

// Reduces `length` elements of i8, i16 or i32, which are `stride` elements apart, to each of `count` results. The
// elements of the next result are one apart, or, with stride 1, `length` apart. Sums are i32, and all parts of them
// must fit. Extremes have the type of the elements.
enum class Reduction { kSum, kMax, kMin };
struct ReduceIntegers {
  Reduction op;
  DType type;
  const void* in;
  void* out;
  int64_t length;
  int64_t stride;
  int64_t count;
};
void reduce_integers(const ReduceIntegers& job);

// out[i] = table[in[i] + 128], of 256 entries.
void look_up(const int8_t* table, const int8_t* in, int8_t* out, int64_t count);

// acc[r][c] -= factor * row_sums[r], in place. It wraps.
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
  int64_t magnitude = 0;  // sum of the absolute values
};
ByteSums byte_sums(const int8_t* in, int64_t count);

// --- products of int16 matrices with int8 weights [channels, k]

// The weights in panels of kLanes channels.
std::vector<int16_t> pack_matrix_i16(std::span<const int8_t> weights, int64_t k, int64_t channels);
// c[row][channel] = the exact sum of products, for all channels of the panels. If k is odd, an element of A follows
// each row; its factor is 0. |sum| must be less than 2^63.
struct MatrixJobI16 {
  const int16_t* a;
  int64_t row_stride;  // elements
  int64_t rows;
  int64_t k;
  const int16_t* panels;
  int64_t panel_count;
  int64_t* c;
  int64_t c_stride;
};
void multiply_i16(const MatrixJobI16& job);

// --- products of fp32 matrices; B is [k][kLanes] per panel

void pack_matrix_f32(const float* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, float* panels);
// out[r][c] = min(max(in[r][c] + column[c], low), high) for `channels`. A NaN stays. The written values are added to
// `extremes` unless it is nullptr.
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
  // Only for products and depthwise convolutions: writes `out` past the caches, for results that leave the caches
  // before they are read. `out` and its rows must begin at multiples of kLineBytes. Call flush_streams() afterwards.
  bool streams = false;
};
inline constexpr size_t kLineBytes = 64;
void flush_streams();
void run_epilogue_f32(const EpilogueF32& job);
// C = A * B. With an epilogue, C is only intermediate storage, and `epilogue` gives the output (its `in` and `rows` are
// ignored).
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
  // Prefetch hints; results do not depend on them. `next_panels`: the weights that are read after these, if both come
  // from beyond the second-level cache; otherwise nullptr. `rows_are_far`: whether A comes from beyond it.
  const float* next_panels = nullptr;
  bool rows_are_far = false;
};
void multiply_f32(const MatrixJobF32& job);

// --- Winograd's F(4x4, 3x3) and F(2x2, 3x3): `outputs` is 4 or 2. A tile has outputs + 2 pixels along each axis, and
// one transformed element (place) per pixel. Channels are multiples of kLanes.
//   Example: F(4x4, 3x3) has tiles of 6x6 pixels: 36 products instead of 16 * 9 = 144.

// B^T x B of a tile of pixels, per channel. Place p of the result is at out + p * stride.
struct WinogradTile {
  int64_t outputs;
  const float* const* x;  // pixels, row by row
  int64_t channels;
  float* out;
  int64_t stride;
};
void transform_winograd(const WinogradTile& job);
// A^T m A of the products of a tile, then the epilogue as in EpilogueF32. Place p is at products + p * stride.
struct WinogradEpilogue {
  int64_t outputs;
  const float* products;
  int64_t stride;
  int64_t channels;
  const float* bias;
  float low;
  float high;
  float* const* out;  // pixels; nullptr: outside
  Extremes* extremes;
};
void winograd_epilogue(const WinogradEpilogue& job);
// G w G^T per input channel, for the weights [3][3][channels] of one output channel. Place p is at out + p * stride.
struct WinogradWeights {
  int64_t outputs;
  const float* weights;
  int64_t channels;
  float* out;
  int64_t stride;
};
void transform_winograd_weights(const WinogradWeights& job);

// --- depthwise: one output pixel from its taps

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
  Extremes* extremes = nullptr;  // the written values are added to it
  bool streams = false;          // as in EpilogueF32
};
void depthwise_f32(const DepthwiseF32& job);

// out[c] = bias[c] + x[0][c] * weights[0][c] + x[1][c] * weights[1][c] + ..., with weights of 8 bits. Sums of
// kMaxTapsI16 products fit 32 bits.
struct DepthwiseI16 {
  const int16_t* const* x;
  const int16_t* weights;  // [taps][channels]
  int64_t taps;
  int64_t channels;
  const int64_t* bias;
  int64_t* out;
};
inline constexpr int64_t kMaxTapsI16 = 256;
void depthwise_i16(const DepthwiseI16& job);

// --- elementwise operators

enum class Combine { kAdd, kSub, kMul, kDiv };

// Rows of fp32, `stride` elements apart. If `repeats`, a row is one element for all columns.
struct RowsF32 {
  const float* data;
  int64_t stride;
  bool repeats;
};
// out[r][c] = a[r][c] op b[r][c]. `out` is dense, and may be a dense operand.
struct CombineF32 {
  Combine op;
  RowsF32 a;
  RowsF32 b;
  float* out;
  int64_t rows;
  int64_t columns;
};
void combine_f32(const CombineF32& job);

// A row of fp32, or one element for all columns.
struct RowF32 {
  const float* data;
  bool repeats;
};
// out[i] = a[i] op b[i], as 1 or 0.
enum class Comparison : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
struct CompareF32 {
  Comparison op;
  RowF32 a, b;
  uint8_t* out;
  int64_t count;
};
void compare_f32(const CompareF32& job);
// out[i] = mask[i] != 0 ? a[i] : b[i]. `out` may be `a` or `b`.
struct SelectF32 {
  const uint8_t* mask;
  RowF32 a, b;
  float* out;
  int64_t count;
};
void select_f32(const SelectF32& job);

// out[i] = a_weight * a[i] + b_weight * b[i]; floats: each product and the sum rounded. Integers must fit.
template <typename T>
struct WeightedSum {
  const T *a, *b;
  T a_weight, b_weight;
  T* out;
  int64_t count;
};
void weighted_sum(const WeightedSum<float>& job);
void weighted_sum(const WeightedSum<int32_t>& job);
// The same along a row of pixels of `channels` bytes: each column of the result has two pixels of the input, which
// begin at the bytes `first` and `second` of `in`.
struct WeightedColumns {
  struct Column {
    int64_t first, second;
    int32_t first_weight, second_weight;
  };
  const int8_t* in;
  std::span<const Column> columns;
  int64_t channels;
  int32_t* out;
};
void weighted_columns(const WeightedColumns& job);

// out[r] = 0 + in[r][0] + in[r][1] + ..., in this order.
struct SumRowsF32 {
  const float* in;  // dense
  int64_t rows;
  int64_t length;
  float* out;
};
void sum_rows_f32(const SumRowsF32& job);

// out[i] = clamp(in[i]). A NaN stays.
void clamp_f32(const float* in, float* out, int64_t count, float low, float high);

// The sum of `count` elements in double: eight partial sums, each of every eighth element, which are then added in
// order.
double sum_of(const float* in, int64_t count);

// sums[c] += in[r][c] for all rows r.
void add_rows(const float* in, int64_t rows, int64_t columns, double* sums);

// out = (in - mean) / sqrt(variance + eps) * scale + shift, in doubles. Entries of scale and shift are for `per_weight`
// elements each, which divides count; nullptr: 1 and 0.
struct NormalizedRow {
  const float* in;
  float* out;
  int64_t count, per_weight;
  const float* scale;
  const float* shift;
  double eps;
};
struct RowStatistics {
  double mean, inverse_deviation;
};
RowStatistics normalize_row(const NormalizedRow& row);
// The sum of (in[i] - mean)^2 in doubles: partial sums as in sum_of().
double squares_of(const float* in, int64_t count, double mean);

// out[i] = (in[i] - mean[i]) * scale[i] + shift[i] in floats. If `repeats`, there is one mean, scale and shift for all.
// `out` may be `in`.
struct AffineF32 {
  const float* in;
  float* out;
  int64_t count;
  const float *mean, *scale, *shift;
  bool repeats;
};
void affine_f32(const AffineF32& job);

// out[i] = in[index[i] * stride + i * step]; an index counts from the end if it is negative. Returns false, and writes
// nothing, if an index is outside of [-size, size).
struct GatherRow {
  const float* in;
  int64_t size, stride;  // of the axis of the indices
  int64_t step;
  const int64_t* index;
  int64_t count;
  float* out;
};
bool gather_row(const GatherRow& row);

// Computes one row of softmax, or of log-softmax if `log` is set. The exponential is a polynomial with an error of at
// most 2 ULP.
void softmax_row(const float* in, float* out, int64_t count, bool log);
// The same of at most kSoftmaxColumns columns side by side. The elements of a column are `stride` apart, in both
// arrays.
inline constexpr int64_t kSoftmaxColumns = 64;
struct SoftmaxColumns {
  const float* in;
  float* out;
  int64_t rows, stride, columns;
  bool log;
};
void softmax_columns(const SoftmaxColumns& job);

// out[i] = function(in[i]), with the bits of the functions of float_math. `out` may be `in`.
enum class Function : uint8_t { kExp, kLog, kSin, kCos, kTanh, kSigmoid, kErf, kRsqrt };
void apply(Function function, const float* in, float* out, int64_t count);

// --- data movement

// out[c * out_stride + r] = in[r * in_stride + c]. There are at least kTransposeTile rows and columns.
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

// The channels of the next block if `left` channels remain.
inline int64_t byte_block(int64_t left) {
  return left > 32 ? 64 : left > 16 ? 32 : 16;
}

}  // namespace carina::kernels
