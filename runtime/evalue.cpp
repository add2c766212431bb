#include "runtime/evalue.h"

#include <algorithm>

namespace carina::runtime {

size_t element_bytes(PteScalarType type) {
  switch (type) {
    case PteScalarType::kByte:
    case PteScalarType::kChar:
    case PteScalarType::kBool:
      return 1;
    case PteScalarType::kShort:
    case PteScalarType::kHalf:
    case PteScalarType::kBFloat16:
    case PteScalarType::kUInt16:
      return 2;
    case PteScalarType::kInt:
    case PteScalarType::kFloat:
    case PteScalarType::kUInt32:
    case PteScalarType::kComplexHalf:
      return 4;
    case PteScalarType::kLong:
    case PteScalarType::kDouble:
    case PteScalarType::kComplexFloat:
      return 8;
    case PteScalarType::kComplexDouble:
      return 16;
  }
  return 0;
}

bool Tensor::resize(std::span<const int64_t> sizes) const {
  if (std::ranges::equal(sizes, this->sizes())) return true;
  if (!resizable || sizes.size() != rank_) return false;
  int64_t capacity = 1;
  for (size_t axis = 0; axis < rank_; ++axis) capacity *= sizes_[rank_ + axis];
  int64_t elements = 1;
  for (const int64_t size : sizes) {
    if (size < 0 || size > INT32_MAX || __builtin_mul_overflow(elements, size, &elements)) return false;
  }
  if (elements > capacity) return false;
  auto* own = const_cast<int32_t*>(sizes_);  // the sizes of a resizable tensor belong to the method, not to the program
  for (size_t axis = 0; axis < rank_; ++axis) own[axis] = static_cast<int32_t>(sizes[axis]);
  return true;
}

}  // namespace carina::runtime
