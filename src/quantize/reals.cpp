#include <algorithm>
#include <cmath>

#include "quantize/reals_internal.h"
#include "tensor/elements.h"

namespace carina::quantize {

namespace {

template <typename T>
Tensor rounded(const Tensor& reals, const Quantization& q) {
  MutableTensor integers(q.dtype, reals.shape);
  const auto inverse = static_cast<float>(1.0 / q.scale());
  const auto low = static_cast<double>(q.qmin), high = static_cast<double>(q.qmax);
  std::ranges::transform(reals.values<float>(), integers.values<T>().begin(), [&](float real) {
    const float step = std::nearbyint(real * inverse);
    if (std::isnan(step)) return static_cast<T>(q.zero_point());
    return static_cast<T>(std::clamp(static_cast<double>(step) + static_cast<double>(q.zero_point()), low, high));
  });
  return std::move(integers).freeze();
}

}  // namespace

Tensor as_reals(const Tensor& tensor, const std::optional<Quantization>& quantization) {
  if (!quantization || quantization->per_channel() || !is_integer(tensor.dtype)) return tensor;
  return reals_of(tensor, *quantization);
}

Tensor as_integers(const Tensor& reals, const Quantization& q) {
  return row_of(q.dtype).bits == 16 ? rounded<int16_t>(reals, q) : rounded<int8_t>(reals, q);
}

}  // namespace carina::quantize
