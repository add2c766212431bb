#pragma once

#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"

namespace carina::quantize {

// Makes each quantized input and output of the graph a tensor of plain integers of `type` (int8, uint8, int16), of its
// old name: a dequantize or quantize node stands between it and what was the input or output. Notes say what the
// integers stand for; edges that are left float are warned of. Errors: a value whose integers have another width.
Result<void> make_edges_raw(ir::Graph& graph, DType type, const Log& log);

}  // namespace carina::quantize
