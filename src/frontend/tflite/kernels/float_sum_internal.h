#pragma once

#include <algorithm>
#include <cstdint>

#include "carina/dtype.h"
#include "frontend/tflite/kernels/fixed_point_internal.h"

namespace carina::tflite {

// SUM of quantized integers. LiteRT's reference kernels add the stored integers and let the sum wrap, which is not what
// the operator means, so these are the bits of its optimized kernels: round(sum * scale + bias) in float, where the
// bias takes the zero points away. `total` is the sum of the integers less their zero points.
struct FloatSum {
  float scale = 1;  // the input's in relation to the result's
  float bias = 0;
  int64_t zero_points = 0;  // the sum of those of the input
  int64_t result_zero = 0;
  IntegerRange range = {};  // of the result

  // A sum of `count` integers whose zero point is `zero`.
  static FloatSum of(float scale, int64_t zero, int64_t count, int64_t result_zero, IntegerRange range) {
    return {.scale = scale,
            .bias = static_cast<float>(-zero) * scale * static_cast<float>(count),
            .zero_points = count * zero,
            .result_zero = result_zero,
            .range = range};
  }

  int64_t operator()(int64_t total) const {
    const float scaled = static_cast<float>(total + zero_points) * scale;
    return std::clamp(rounded(scaled + bias) + result_zero, range.min, range.max);
  }
};

}  // namespace carina::tflite
