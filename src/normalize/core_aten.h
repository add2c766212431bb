#pragma once

#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"

namespace carina::normalize {

// Returns whether to_core_aten() rewrites nodes of this operator.
bool becomes_core_aten(AtenOp op);

// Rewrites the float operators of CPU nodes that have no kernel in ExecuTorch's portable library (silu, hardswish,
// softplus, transposed convolution ...) to core ATen operators that have one (facts/aten). Values
// keep their names, types and shapes. Other nodes stay. A valid graph causes no errors.
Result<void> to_core_aten(ir::Graph& program, const Log& log);

}  // namespace carina::normalize
