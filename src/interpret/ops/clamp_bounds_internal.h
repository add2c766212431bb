#pragma once

#include <optional>

#include "interpret/kernel_internal.h"
#include "kernels/convolution.h"

// Fused CLAMP of fp32.
namespace carina::interpret {

// The bounds of an fp32 CLAMP that is fused into the kernel of its operand; infinities without one. Returns nothing for
// another operator, or for the specification's mode that ignores NaN.
std::optional<kernels::BoundsF32> clamp_bounds_of(const TailPlan& plan);

}  // namespace carina::interpret
