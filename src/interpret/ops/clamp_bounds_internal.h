#pragma once

#include <limits>
#include <optional>

#include "interpret/kernel_internal.h"

// Fused CLAMP of fp32.
namespace carina::interpret {

// The bounds of an fp32 CLAMP that is fused into the kernel of its operand; infinities without one.
struct ClampBounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};
// The bounds for the tail. Returns nothing for another operator, or for the specification's mode that ignores NaN.
std::optional<ClampBounds> clamp_bounds_of(const TailPlan& plan);

}  // namespace carina::interpret
