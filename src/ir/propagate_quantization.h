#pragma once

#include "ir/graph.h"

namespace carina::ir {

// Copies the parameters of neighbors to values inside a quantized chain (convolution -> relu -> quantize; quantized ->
// view -> linear), so that each node is quantized on its own. Unquantized weights, which only decompositions produce,
// become their own integers if they are integers or multiples of one number. No result changes; the .cpp says why.
void propagate_quantization(ir::Graph& graph);

}  // namespace carina::ir
