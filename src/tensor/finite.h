#pragma once

#include <span>

namespace carina {

// Returns whether no element is infinite or NaN.
bool are_finite(std::span<const float> values);

}  // namespace carina
