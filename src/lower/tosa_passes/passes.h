#pragma once

#include "ir/pass.h"

namespace carina::lower {

// Clean-up of a freshly lowered TOSA graph, each in its own file with its own header comment.
Result<void> sink_transposes(ir::Graph& graph, const Log& log);
Result<void> merge_axes(ir::Graph& graph, const Log& log);
Result<void> fold_movement(ir::Graph& graph, const Log& log);
Result<void> merge_duplicates(ir::Graph& graph, const Log& log);
Result<void> fold_padding(ir::Graph& graph, const Log& log);
Result<void> fold_flatten(ir::Graph& graph, const Log& log);

}  // namespace carina::lower
