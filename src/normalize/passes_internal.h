#pragma once

#include "ir/pass.h"
#include "normalize/rewriter.h"

namespace carina::normalize {

// The passes of normalize(). Each is in its own file, whose header comment describes it.
Result<void> fold_sources(ir::Graph& graph, const Log& log);
Result<void> canonicalize(ir::Graph& graph, const Log& log);
Result<void> fold_constants(ir::Graph& graph, const ir::Evaluator& evaluator, const Log& log);
Result<void> fold_constant_layout(ir::Graph& graph, const Log& log);
Result<void> fold_batch_norm(ir::Graph& graph, const Log& log);
Result<void> widen_halves(ir::Graph& graph, const Log& log);
Result<void> recognize_leaky_relu(ir::Graph& graph, const Log& log);
Result<void> decompose(ir::Graph& graph, const Log& log);
Result<void> scale_channels(ir::Graph& graph, const Log& log);
Result<void> remove_identities(ir::Graph& graph, const Log& log);
// Like canonicalize() and decompose(), without the nodes that stay whole in a program for the CPU.
Result<void> canonicalize_for_cpu(ir::Graph& graph, const Log& log);
Result<void> decompose_for_cpu(ir::Graph& graph, const Log& log);

// Returns whether a program for the CPU keeps the node as it is: ExecuTorch has a kernel for it, which takes these
// types.
bool stays_whole(const Rewriter& in, const ir::Node& node);

// The rewrite tables of the passes.
std::span<const RewriteRow> source_rows();
std::span<const RewriteRow> canonical_rows();
std::span<const RewriteRow> identity_rows();
std::span<const RewriteRow> moved_constant_rows();
std::span<const RewriteRow> batch_norm_rows();
std::span<const RewriteRow> decomposition_rows();

}  // namespace carina::normalize
