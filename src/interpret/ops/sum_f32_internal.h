#pragma once

#include <optional>

#include "interpret/kernel_internal.h"

namespace carina::interpret {

// An ADD of fp32 with the CLAMP that stands in plan.tail. Nothing where it does not apply.
std::optional<Kernel> clamped_sum_f32(const NodePlan& plan);

}  // namespace carina::interpret
