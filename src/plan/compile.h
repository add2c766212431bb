#pragma once

#include "base/diagnostic.h"
#include "base/log.h"
#include "ir/graph.h"
#include "npu/compiled_network.h"
#include "plan/family/options.h"
#include "plan/network/target.h"

namespace carina::plan {

// Compiles a TOSA graph (conventions of ir::Graph; integer types) for the whole of it to run on the NPU: command
// stream, constants, and where inputs and outputs lie in the arena. Region 0 holds constants, region 1 the arena, as in
// Vela's output. The same graph and target give the same bytes. Errors: an operator, type or attribute that the NPU
// cannot do, each node named with the reason, all of them at once; a network that does not fit the arena, by how much
// and because of which tensors.
Result<npu::CompiledNetwork> compile(const ir::Graph& tosa, const Target& target, const Options& options,
                                     const Log& log);

}  // namespace carina::plan
