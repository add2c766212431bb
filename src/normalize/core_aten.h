#pragma once

#include "base/diagnostic.h"
#include "base/log.h"
#include "ir/graph.h"

namespace carina::normalize {

// Rewrites the float ops of a program for the CPU that have no kernel in ExecuTorch's portable library (silu,
// hardswish, softplus, transposed convolution ...) into core ATen ops that have one (facts/executorch_kernels.def).
// Values keep their names, types and shapes; other nodes stay. Errors: none that a valid graph meets. becomes_core_aten():
// whether it does so with this op.
bool becomes_core_aten(AtenOp op);
Result<void> to_core_aten(ir::Graph& program, const Log& log);

}  // namespace carina::normalize
