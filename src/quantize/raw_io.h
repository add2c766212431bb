#pragma once

#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"

namespace carina::quantize {

// Changes each quantized input and output of the graph to a tensor of plain integers of `type` (int8, uint8, int16),
// which keeps the name. A dequantize node after the input, or a quantize node before the output, connects it to the
// former value. Notes give the scale and zero point of the integers. Inputs and outputs that stay float cause a
// warning. Errors: a value whose integers have another width.
Result<void> make_edges_raw(ir::Graph& graph, DType type, const Log& log);

}  // namespace carina::quantize
