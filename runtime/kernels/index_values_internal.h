#pragma once

#include <cstdint>

#include "runtime/kernels/element_internal.h"

namespace carina::runtime {

// Returns whether the tensor's type is legal for indices.
inline bool holds_indices(const Tensor& tensor) {
  return tensor.type == PteScalarType::kLong || tensor.type == PteScalarType::kInt;
}

inline int64_t integer_at(const Tensor& tensor, int64_t at) {
  return integer_loader(tensor.type)(tensor.data, static_cast<size_t>(at));
}

// Element `at` as an index on an axis; a negative one counts from the end. Returns false if it is out of range.
inline bool index_in_axis(const Tensor& indices, int64_t at, int64_t size, int64_t& index) {
  index = integer_at(indices, at);
  if (index < 0) index += size;
  return index >= 0 && index < size;
}

}  // namespace carina::runtime
