#include "normalize/prepare.h"

#include <algorithm>
#include <array>

#include "normalize/passes_internal.h"

namespace carina::normalize {

namespace {

constexpr std::array kPipeline{
    ir::Pass{.name = "fold-sources", .run = fold_sources},
    ir::Pass{.name = "canonicalize", .gives = "one-spelling", .run = canonicalize},
    ir::Pass{.name = "remove-identities", .needs = "one-spelling", .run = remove_identities},
    ir::Pass{.name = "fold-constant-layout", .needs = "one-spelling", .run = fold_constant_layout},
    ir::Pass{.name = "fold-constants", .needs = "one-spelling", .evaluate = fold_constants},
    ir::Pass{.name = "widen-halves", .needs = "one-spelling", .run = widen_halves},
    ir::Pass{.name = "fold-batch-norm", .needs = "one-spelling", .gives = "no-batch-norm", .run = fold_batch_norm},
    ir::Pass{.name = "decompose", .needs = "no-batch-norm", .gives = "no-composites", .run = decompose},
    ir::Pass{.name = "remove-decomposed-identities", .needs = "one-spelling", .run = remove_identities},
    ir::Pass{.name = "fold-decomposed-constants", .needs = "no-composites", .evaluate = fold_constants},
};
static_assert(ir::is_in_order(kPipeline));

// The same passes for the CPU. Passes that rewrite operators keep the nodes for which stays_whole() holds.
constexpr auto kCpuPipeline = [] {
  auto pipeline = kPipeline;
  for (ir::Pass& pass : pipeline) {
    if (pass.run == canonicalize) pass.run = canonicalize_for_cpu;
    if (pass.run == decompose) pass.run = decompose_for_cpu;
  }
  return pipeline;
}();
static_assert(ir::is_in_order(kCpuPipeline));

}  // namespace

std::span<const ir::Pass> prepare_pipeline() {
  return kPipeline;
}

bool is_rewritten(AtenOp op) {
  return std::ranges::any_of(
      std::array{source_rows(), canonical_rows(), identity_rows(), batch_norm_rows(), decomposition_rows()},
      [&](std::span<const RewriteRow> rows) { return std::ranges::find(rows, op, &RewriteRow::op) != rows.end(); });
}

Result<void> prepare(ir::Graph& aten, const ir::PassOptions& options, const Log& log) {
  return ir::run_passes(aten, kPipeline, options, log);
}

Result<void> prepare_for_cpu(ir::Graph& aten, const ir::PassOptions& options, const Log& log) {
  return ir::run_passes(aten, kCpuPipeline, options, log);
}

Result<void> prepare(ir::Graph& aten, const Log& log) {
  return prepare(aten, ir::PassOptions{}, log);
}

Result<void> prepare(ir::Graph& aten, const ir::Evaluator& evaluator, const Log& log) {
  return prepare(aten, ir::PassOptions{.evaluator = &evaluator}, log);
}

}  // namespace carina::normalize
