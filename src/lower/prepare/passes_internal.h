#pragma once

#include "ir/pass.h"

namespace carina::lower {

// The passes of prepare(), each in its own file with its own header comment.
Result<void> fold_sources(ir::Graph& graph, const Log& log);
Result<void> canonicalize(ir::Graph& graph, const Log& log);
Result<void> fold_constants(ir::Graph& graph, const ir::Evaluator& evaluator, const Log& log);
Result<void> fold_batch_norm(ir::Graph& graph, const Log& log);
Result<void> decompose(ir::Graph& graph, const Log& log);
Result<void> remove_identities(ir::Graph& graph, const Log& log);

}  // namespace carina::lower
