#pragma once

#include <optional>

#include "interpret/kernel_internal.h"

namespace carina::interpret {

// A kernel of an fp32 ADD with the CLAMP of the tail. Returns nothing if it does not apply.
std::optional<Kernel> clamped_sum_f32(const TailPlan& fused);

}  // namespace carina::interpret
