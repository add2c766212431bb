#pragma once

#include <cstdint>

// The vector kernels of this library, chosen at run time for the processor. Every target gives the same bits: each
// output is one chain of fused multiply-adds in a fixed order, for any width of the vectors and any number of threads.
namespace carina::accelerate {

// The computation after a sum: * scale + shift (rounded once), then the clamp. NaN propagates.
struct Epilogue {
  const float* scale = nullptr;   // per row; nullptr: 1
  const float* shift = nullptr;   // per row; nullptr: 0
  const float* column = nullptr;  // per column, added to that; nullptr: 0
  float low;
  float high;
};

// out[m][n] = epilogue(sum over k of a[m][k] * b[k][n]). Rows of all three are contiguous, `..._stride` elements apart.
struct Gemm {
  const float* a;
  int64_t a_stride;
  int64_t rows;
  int64_t depth;
  const float* b;
  int64_t b_stride;
  int64_t columns;
  float* out;
  int64_t out_stride;
  Epilogue epilogue;
};
void multiply(const Gemm& job);
// The columns that one pass over the rows of `a` computes. A last panel with fewer columns takes as much time.
inline constexpr int64_t kPanelColumns = 64;

// The geometry of one channel of a depthwise convolution. The scratch of a convolution has plane_elems() floats, which
// are zero before the first call; its padding stays zero.
struct Plane {
  int64_t height, width;  // of the input
  int64_t out_height, out_width;
  int64_t kernel_height, kernel_width;
  int64_t stride_y, stride_x, padding_y, padding_x, dilation_y, dilation_x;

  [[nodiscard]] int64_t in_elems() const { return height * width; }
  [[nodiscard]] int64_t out_elems() const { return out_height * out_width; }
  [[nodiscard]] int64_t taps() const { return kernel_height * kernel_width; }
};
int64_t plane_elems(const Plane& plane);
inline constexpr int64_t kMaxTaps = 128;
struct Depthwise {
  Plane plane;
  int64_t channels;      // of the output
  int64_t of_one_input;  // number of consecutive output channels that read the same input channel
  int64_t skipped;       // output channels of the first input channel that are skipped; less than `of_one_input`
  const float* in;       // [..][height][width]
  const float* weights;  // [channels][kernel_height][kernel_width]
  float* out;            // [channels][out_height][out_width]
  float* scratch;
  const float* scale;  // of each channel
  const float* shift;
  float low, high;
};
void depthwise(const Depthwise& job);

// out[i] = a[i] op b[i], then clamped. If `b_is_one`, b[0] is used for all elements.
enum class Arithmetic : uint8_t { kAdd, kSub, kMul, kDiv };
struct Elementwise {
  Arithmetic op;
  const float* a;
  const float* b;
  bool b_is_one;
  float* out;
  int64_t count;
  float low, high;
};
void elementwise(const Elementwise& job);

// out[i] = clamp(in[i]). NaN propagates.
void clamp(const float* in, float* out, int64_t count, float low, float high);

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

// The sum of `count` elements in double: eight partial sums, each of every eighth element, which are then added in
// order.
double sum_of(const float* in, int64_t count);

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

}  // namespace carina::accelerate
