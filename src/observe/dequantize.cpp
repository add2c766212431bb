#include <algorithm>
#include <cmath>

#include "observe/dequantize_internal.h"
#include "tensor/elements.h"

namespace carina::observe {

namespace {

template <typename T>
Tensor rounded(const Tensor& floats, const Quantization& q) {
  MutableTensor integers(q.dtype, floats.shape);
  const auto inverse = static_cast<float>(1.0 / q.scale());
  const auto low = static_cast<double>(q.qmin), high = static_cast<double>(q.qmax);
  std::ranges::transform(floats.values<float>(), integers.values<T>().begin(), [&](float real) {
    const float step = std::nearbyint(real * inverse);
    if (std::isnan(step)) return static_cast<T>(q.zero_point());
    return static_cast<T>(std::clamp(static_cast<double>(step) + static_cast<double>(q.zero_point()), low, high));
  });
  return std::move(integers).freeze();
}

}  // namespace

Tensor as_floats(const Tensor& tensor, const std::optional<Quantization>& quantization) {
  if (!quantization || quantization->per_channel() || !is_integer(tensor.dtype)) return tensor;
  return dequantized(tensor, *quantization);
}

Tensor as_integers(const Tensor& floats, const Quantization& q) {
  return row_of(q.dtype).bits == 16 ? rounded<int16_t>(floats, q) : rounded<int8_t>(floats, q);
}

}  // namespace carina::observe
