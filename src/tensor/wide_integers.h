#pragma once

#include <algorithm>
#include <utility>

#include "carina/tensor.h"

namespace carina {

// Returns whether an element of an int64 tensor does not fit int32.
inline bool has_beyond_int32(const Tensor& tensor) {
  return std::ranges::any_of(tensor.values<int64_t>(), [](int64_t n) { return !std::in_range<int32_t>(n); });
}

}  // namespace carina
