#pragma once

#include <span>

#include "base/diagnostic.h"
#include "base/log.h"
#include "ir/graph.h"
#include "ir/pass.h"

namespace carina::normalize {

// Normalizes an ATen graph before quantization: what has no effect on values is removed, batch norms are folded,
// composite ops (softmax, layer_norm ...) become chains of simple ones so that every intermediate is an ATen value that
// calibration can observe and the quantizer can annotate. Values that survive keep their names; new ones are called
// after the node that they come from. Graph inputs and outputs keep their order, names, shapes and types. Idempotent.
// Works on float graphs and on graphs whose values carry `quantization` (import folds quantize/dequantize nodes before
// or after). Errors: all ops that cannot be normalized, in one go;
// Diagnostic::node is the node's origin.
Result<void> prepare(ir::Graph& aten, const Log& log);
// Like prepare(), and evaluates nodes of constants to constants (in-model normalization, reshaped buffers).
Result<void> prepare(ir::Graph& aten, const ir::Evaluator& evaluator, const Log& log);
// Like prepare(), with the runner's options (stop after a pass, skip one, print the graph after each).
Result<void> prepare(ir::Graph& aten, const ir::PassOptions& options, const Log& log);

// Like prepare(), for a float graph that runs on the CPU as a whole: operators that ExecuTorch has a kernel for stay
// (softmax, layer_norm, mm ...). to_core_aten() takes the result.
Result<void> prepare_for_cpu(ir::Graph& aten, const ir::PassOptions& options, const Log& log);

// Whether a pass of prepare() rewrites nodes of this operator, where their types and shapes allow it.
bool is_rewritten(AtenOp op);

// Errors: the model takes floats of another type than fp32, or normalizes them; one, whatever the number of nodes.
Result<void> check_computes_in_fp32(const ir::Graph& aten);

// The passes of prepare() in order, as documentation and --help list them.
std::span<const ir::Pass> prepare_pipeline();

}  // namespace carina::normalize
