#pragma once

#include "ir/graph.h"

namespace carina::ir {

// Gives values inside a quantized chain (convolution -> relu -> quantize, quantized -> view -> linear) the parameters
// that their neighbors have, so that each node is quantized by itself; weights of whole numbers, which only decompositions leave unquantized, are
// their own integers. No number changes: see the .cpp.
void propagate_quantization(ir::Graph& graph);

}  // namespace carina::ir
