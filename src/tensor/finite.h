#pragma once

#include <span>

namespace carina {

// Whether no element is infinite or NaN.
bool are_finite(std::span<const float> values);

}  // namespace carina
