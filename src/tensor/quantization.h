#pragma once

#include <cstdint>
#include <vector>

#include "carina/dtype.h"

namespace carina {

// The mapping between integers and floats: real = (integer - zero_point) * scale; quantizing clamps to [qmin, qmax].
// Source: quantized_decomposed.quantize_per_tensor / quantize_per_channel of PyTorch.
struct Quantization {
  static constexpr int kPerTensor = -1;

  DType dtype = DType::kInt8;        // type of the integers
  std::vector<double> scales;        // one, or one per index of `axis`
  std::vector<int64_t> zero_points;  // as many as scales
  int axis = kPerTensor;
  int64_t qmin = -128;
  int64_t qmax = 127;

  [[nodiscard]] bool per_channel() const { return axis != kPerTensor; }
  [[nodiscard]] double scale() const { return scales.front(); }
  [[nodiscard]] int64_t zero_point() const { return zero_points.front(); }
  bool operator==(const Quantization&) const = default;
};

}  // namespace carina
