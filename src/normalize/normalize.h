#pragma once

#include <span>

#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"
#include "ir/pass.h"

namespace carina::normalize {

// Normalizes an ATen graph before quantization. Nodes without effect on values are removed, batch norms are folded, and
// composite operators (softmax, layer_norm ...) become chains of simple ones. So every intermediate result is an ATen
// value that calibration can observe and the quantizer can annotate. Remaining values keep their names; new ones are
// named after the node from which they come. Graph inputs and outputs keep order, names, shapes and types. Idempotent.
// Supports float graphs and graphs whose values carry `quantization` (import folds quantize/dequantize nodes before or
// after). Errors, all at once: operators that cannot be normalized; Diagnostic::node is the node's origin.
Result<void> normalize(ir::Graph& aten, const Log& log);
// Like normalize(), but also folds nodes with constant inputs (in-model normalization, reshaped buffers).
Result<void> normalize(ir::Graph& aten, const ir::Evaluator& evaluator, const Log& log);
// Like normalize(), with the options of the pass runner (stop after a pass, skip one, print the graph after each).
Result<void> normalize(ir::Graph& aten, const ir::PassOptions& options, const Log& log);

// Like normalize(), for a float graph that runs on the CPU as a whole: operators for which ExecuTorch has a kernel stay
// (softmax, layer_norm, mm ...). The result is input to to_core_aten().
Result<void> normalize_for_cpu(ir::Graph& aten, const ir::PassOptions& options, const Log& log);

// Returns whether a pass of normalize() rewrites nodes of this operator, if their types and shapes allow it.
bool is_rewritten(AtenOp op);

// Error: the model's inputs or normalizations have floats of another type than fp32. It is one error for any number of
// nodes.
Result<void> check_computes_in_fp32(const ir::Graph& aten);

// The passes of normalize() in order, for documentation and --help.
std::span<const ir::Pass> pipeline();

}  // namespace carina::normalize
