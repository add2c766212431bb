#pragma once

#include <cstddef>
#include <type_traits>

namespace carina::simulate {

inline constexpr size_t kLanes = 16;  // of loops that compilers vectorize

// Calls function(i, lanes) for the first of each kLanes numbers below `count`, and then for each of the rest.
template <typename Function>
void in_lanes(size_t count, const Function& function) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) function(i, std::integral_constant<size_t, kLanes>());
  for (; i < count; ++i) function(i, std::integral_constant<size_t, 1>());
}

}  // namespace carina::simulate
