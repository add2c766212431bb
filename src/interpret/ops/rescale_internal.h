#pragma once

#include "interpret/kernel_internal.h"

namespace carina::interpret {

// Checks the operands, types and shapes of a RESCALE node.
Result<void> check_rescale(const NodePlan& plan);

}  // namespace carina::interpret
