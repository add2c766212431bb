#include "lower/prepare.h"

#include <array>

#include "lower/prepare/passes_internal.h"

namespace carina::lower {

namespace {

constexpr std::array kPipeline{
    ir::Pass{.name = "fold-sources", .run = fold_sources},
    ir::Pass{.name = "canonicalize", .run = canonicalize},
    ir::Pass{.name = "remove-identities", .run = remove_identities},
    ir::Pass{.name = "fold-constants", .evaluate = fold_constants},
    ir::Pass{.name = "fold-batch-norm", .run = fold_batch_norm},
    ir::Pass{.name = "decompose", .run = decompose},
    ir::Pass{.name = "remove-decomposed-identities", .run = remove_identities},
    ir::Pass{.name = "fold-decomposed-constants", .evaluate = fold_constants},
};

}  // namespace

std::span<const ir::Pass> prepare_pipeline() {
  return kPipeline;
}

Result<void> prepare(ir::Graph& aten, const ir::PassOptions& options, const Log& log) {
  return ir::run_passes(aten, kPipeline, options, log);
}

Result<void> prepare(ir::Graph& aten, const Log& log) {
#ifdef CARINA_DEV
  return prepare(aten, ir::PassOptions{.stop_after = {}, .disabled = {}, .verify_each = true}, log);
#else
  return prepare(aten, ir::PassOptions{}, log);
#endif
}

Result<void> prepare(ir::Graph& aten, const ir::Evaluator& evaluator, const Log& log) {
#ifdef CARINA_DEV
  constexpr bool kVerify = true;
#else
  constexpr bool kVerify = false;
#endif
  return prepare(aten, {.stop_after = {}, .disabled = {}, .verify_each = kVerify, .evaluator = &evaluator}, log);
}

}  // namespace carina::lower
