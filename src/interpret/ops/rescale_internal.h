#pragma once

#include "interpret/kernel_internal.h"

namespace carina::interpret {

// Operands, types and shapes of a RESCALE node.
Result<void> check_rescale(const NodePlan& plan);

}  // namespace carina::interpret
