#pragma once

#include <span>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"
#include "ir/pass.h"
#include "lower/target.h"

// ATen graphs become TOSA graphs.
namespace carina::lower {

struct Lowered {
  // The `origin` of each node is the ATen node that it was made for. Nodes that only give an output its own value have
  // none.
  ir::Graph graph;
  // For each ATen value, the TOSA value with its elements. It may have another layout or shape ([N,H,W,C]), and has
  // integers if the value is quantized. Invalid if the clean-up removed it. Several ATen values may share one TOSA
  // value.
  std::vector<ir::ValueId> value_of;
};

// Lowers a normalized ATen graph to TOSA 1.0, in the idioms of a target. It does not check the target's limits
// (legality.h does). Values with `quantization` become integers (profile PRO-INT), float values stay fp32 (PRO-FP), and
// integer values keep their type, except that int64 constants and indices become int32. Graph inputs and outputs keep
// ATen's order, names and layout (NCHW); a quantized input or output is a tensor of its integers. A TOSA value that
// holds the elements of an ATen value has its name. Each TOSA node has the name and source of the ATen node for which
// it was made. All shapes must be static, with a rank of at most 6. Errors, all at once: every node that has no
// lowering, or none for its types, each with operator, node (also in Diagnostic::node) and source line. Source: TOSA
// 1.0; the numeric conventions are those of the PT2E flow for ExecuTorch's Arm backend.
Result<Lowered> to_tosa(const ir::Graph& aten, const Target& target, const Log& log);
// Like to_tosa(), with options for the runner of the clean-up passes.
Result<Lowered> to_tosa(const ir::Graph& aten, const Target& target, const ir::PassOptions& options, const Log& log);

// The clean-up passes of to_tosa() in order, for documentation and --help.
std::span<const ir::Pass> clean_up_pipeline();

// Returns whether an operator has a lowering for at least some types and shapes.
bool has_lowering(ir::Op op);

}  // namespace carina::lower
