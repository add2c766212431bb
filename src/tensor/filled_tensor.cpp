#include "tensor/filled_tensor.h"

#include <vector>

#include "tensor/elements.h"

namespace carina {

Tensor filled_tensor(DType dtype, const Shape& shape, double value) {
  const auto count = static_cast<size_t>(shape.elements());
  if (dtype == DType::kFp64) return Tensor::of<double>(dtype, shape, std::vector(count, value));
  if (is_float(dtype)) return float_tensor(dtype, shape, static_cast<float>(value));
  const int64_t whole = dtype == DType::kBool ? int64_t{value != 0} : static_cast<int64_t>(value);
  return integer_tensor(dtype, shape, std::vector(count, whole));
}

}  // namespace carina
