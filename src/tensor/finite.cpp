#include "tensor/finite.h"

#include <algorithm>
#include <array>

namespace carina {

// A value that is not finite leaves more than 0 when it is taken from itself. In lanes, which compilers make vectors of.
bool are_finite(std::span<const float> values) {
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> left{};
  const size_t whole = values.size() - values.size() % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) left[lane] += values[i + lane] - values[i + lane];
  }
  for (size_t i = whole; i < values.size(); ++i) left[0] += values[i] - values[i];
  return std::ranges::all_of(left, [](float l) { return l == 0; });
}

}  // namespace carina
