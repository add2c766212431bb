#pragma once

#include <cstdint>

#include "runtime/kernels/element_internal.h"

namespace carina::runtime {

// Tensors whose elements are places on an axis.
inline bool holds_places(const Tensor& tensor) {
  return tensor.type == PteScalarType::kLong || tensor.type == PteScalarType::kInt;
}

inline int64_t integer_at(const Tensor& tensor, int64_t at) {
  return integer_loader(tensor.type)(tensor.data, static_cast<size_t>(at));
}

// Element `at` as a place on an axis, from the end when negative; false when outside.
inline bool place_of(const Tensor& places, int64_t at, int64_t size, int64_t& place) {
  place = integer_at(places, at);
  if (place < 0) place += size;
  return place >= 0 && place < size;
}

}  // namespace carina::runtime
