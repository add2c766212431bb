#pragma once

#include <optional>

#include "interpret/kernel_internal.h"

namespace carina::interpret {

// A kernel of an fp32 ADD with the CLAMP in plan.tail. Returns nothing if it does not apply.
std::optional<Kernel> clamped_sum_f32(const NodePlan& plan);

}  // namespace carina::interpret
