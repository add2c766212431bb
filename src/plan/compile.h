#pragma once

#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"
#include "npu/compiled_network.h"
#include "plan/family/options.h"
#include "plan/network/target.h"

namespace carina::plan {

// Compiles a whole TOSA graph (conventions of ir::Graph; integer types) for the NPU. The result holds the command
// stream, the constants, and the arena addresses of inputs and outputs. Region 0 holds constants and region 1 the
// arena, as in Vela's output. The same graph and target give the same bytes.
// Errors: operators, types or attributes that the NPU does not support (one diagnostic per node, with the reason, all
// at once); a network that does not fit the arena (the missing bytes and the tensors that need them).
Result<npu::CompiledNetwork> compile(const ir::Graph& tosa, const Target& target, const Options& options,
                                     const Log& log);

}  // namespace carina::plan
