#include "normalize/normalize.h"

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
    ir::Pass{.name = "recognize-leaky-relu", .needs = "one-spelling", .run = recognize_leaky_relu},
    ir::Pass{.name = "decompose", .needs = "no-batch-norm", .gives = "no-composites", .run = decompose},
    ir::Pass{.name = "remove-decomposed-identities", .needs = "one-spelling", .run = remove_identities},
    ir::Pass{.name = "fold-decomposed-constants", .needs = "no-composites", .evaluate = fold_constants},
    ir::Pass{.name = "scale-channels", .needs = "no-composites", .run = scale_channels},
};
static_assert(ir::is_in_order(kPipeline));

// Of the same passes, those that rewrite operators leave what a kernel of the CPU computes whole. Kernels of the CPU
// add and multiply faster than they convolve.
constexpr auto kCpuPipeline = [] {
  static_assert(kPipeline.back().run == scale_channels);
  std::array<ir::Pass, kPipeline.size() - 1> pipeline;
  std::ranges::copy_n(kPipeline.begin(), pipeline.size(), pipeline.begin());
  for (ir::Pass& pass : pipeline) {
    if (pass.run == canonicalize) pass.run = canonicalize_for_cpu;
    if (pass.run == decompose) pass.run = decompose_for_cpu;
  }
  return pipeline;
}();
static_assert(ir::is_in_order(kCpuPipeline));

}  // namespace

std::span<const ir::Pass> pipeline() {
  return kPipeline;
}

bool is_rewritten(AtenOp op) {
  return std::ranges::any_of(
      std::array{source_rows(), canonical_rows(), identity_rows(), batch_norm_rows(), decomposition_rows()},
      [&](std::span<const RewriteRow> rows) { return std::ranges::find(rows, op, &RewriteRow::op) != rows.end(); });
}

Result<void> normalize(ir::Graph& aten, const ir::PassOptions& options, const Log& log) {
  return ir::run_passes(aten, kPipeline, options, log);
}

Result<void> normalize_for_cpu(ir::Graph& aten, const ir::PassOptions& options, const Log& log) {
  return ir::run_passes(aten, kCpuPipeline, options, log);
}

Result<void> normalize(ir::Graph& aten, const Log& log) {
  return normalize(aten, ir::PassOptions{}, log);
}

Result<void> normalize(ir::Graph& aten, const ir::Evaluator& evaluator, const Log& log) {
  return normalize(aten, ir::PassOptions{.evaluator = &evaluator}, log);
}

}  // namespace carina::normalize
