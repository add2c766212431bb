#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "runtime/kernels/element_internal.h"

namespace carina::runtime {

// Quantizes with ExecuTorch's float arithmetic: the reciprocal of the scale is rounded first, and halves are rounded to
// even.
inline int64_t code_of(float value, float inverse_scale, int64_t zero_point, int64_t low, int64_t high) {
  const float scaled = std::nearbyint(inverse_scale * value);
  const int64_t code = to_int64(static_cast<double>(static_cast<float>(zero_point) + scaled));
  return code < low ? low : code > high ? high : code;
}

inline float value_of_code(int64_t code, float scale, int64_t zero_point) {
  return static_cast<float>(static_cast<int64_t>(static_cast<uint64_t>(code) - static_cast<uint64_t>(zero_point))) *
         scale;
}

// The parameters of one row of elements that are quantized or dequantized alike.
struct RowCodes {
  float scale;  // to quantize: the inverse scale
  int64_t zero_point;
  int64_t low = 0, high = 0;  // to quantize
};

// Quantizes or dequantizes `count` adjacent elements with the bits of code_of() and value_of_code(). Common types have
// loops of their own.
void quantize_row(const Tensor& in, size_t from, const Tensor& out, size_t to, size_t count, const RowCodes& codes);
void dequantize_row(const Tensor& in, size_t from, const Tensor& out, size_t to, size_t count, const RowCodes& codes);

// Some neighboring columns of a matrix, whose rows are `step` elements apart.
struct Columns {
  size_t first, count, rows, step;
};

// The parameters of columns that are quantized or dequantized each on its own.
struct EachCodes {
  static constexpr size_t kMaxColumns = 32;
  std::array<float, kMaxColumns> scales;  // to quantize: the inverse scales
  std::array<int32_t, kMaxColumns> zero_points;
  int64_t low = 0, high = 0;  // to quantize
  bool are_exact = true;      // as floats
  bool fit_vectors = true;    // the scales

  void set(size_t i, const RowCodes& row);
};

// The same for columns. Returns false if there is no loop for the types or the parameters.
bool quantize_each(const Tensor& in, const Tensor& out, const Columns& columns, const EachCodes& codes);
bool dequantize_each(const Tensor& in, const Tensor& out, const Columns& columns, const EachCodes& codes);

// The scale and zero point with which integers in [low, high] represent values in [least, most] and zero.
struct Parameters {
  double scale;
  int64_t zero_point;
};
Parameters choose_parameters(float min, float max, int64_t low, int64_t high);

}  // namespace carina::runtime
