#pragma once

#include "ir/pass.h"

namespace carina::lower {

// The clean-up passes after the lowering. Each is in its own file, whose header comment describes it.
Result<void> sink_transposes(ir::Graph& graph, const Log& log);
Result<void> choose_layouts(ir::Graph& graph, const Log& log);
Result<void> merge_axes(ir::Graph& graph, const Log& log);
Result<void> fold_movement(ir::Graph& graph, const Log& log);
Result<void> merge_duplicates(ir::Graph& graph, const Log& log);
Result<void> fold_padding(ir::Graph& graph, const Log& log);
Result<void> fold_flatten(ir::Graph& graph, const Log& log);

}  // namespace carina::lower
