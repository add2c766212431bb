// Tensors of one number.
#pragma once

#include "carina/tensor.h"

namespace carina {

// Returns a tensor in which every element is `value`: rounded to a float type, truncated to an integer that must fit,
// or true where it is not 0.
Tensor filled_tensor(DType dtype, const Shape& shape, double value);

}  // namespace carina
