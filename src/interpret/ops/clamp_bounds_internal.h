#pragma once

#include <limits>
#include <optional>

#include "interpret/kernel_internal.h"

namespace carina::interpret {

// Bounds of a CLAMP of fp32 that is computed with what makes its operand; infinities for none.
struct ClampBounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};
// Of what stands in plan.tail. Nothing: it is something else, or the specification's mode that ignores NaN.
std::optional<ClampBounds> clamp_bounds_of(const NodePlan& plan);

}  // namespace carina::interpret
