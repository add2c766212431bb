#pragma once

#include "carina/log.h"
#include "ir/graph.h"
#include "quantize/scheme.h"

namespace carina::quantize {

// Sets weights to zero in the layers whose scheme says so. Pruning::kTwoOfFour: of each four consecutive input
// channels, at each tap of each output channel, the two weights with the smallest magnitudes.
//   Before: linear weights of an output channel (0.1, -0.5, 0.3, 0.2,  0.4, 0.1)
//   After:                                      (0,   -0.5, 0.3, 0,    0.4, 0.1)
// Pruning::kSmallest: a percentage of all weights of the layer, those with the smallest magnitudes.
//   60 %:                                       (0,   -0.5, 0.3, 0,    0.4, 0)
// Layers are linear ones and convolutions in one or two dimensions without groups, with at least four input channels.
// Each weight must have one reader. A note counts what became zero. NPUs with 2:4 sparsity multiply such weights in
// half the time (docs/adr/0091). Zeros take fewer bytes on every NPU, because weights are entropy-coded.
void prune_weights(ir::Graph& graph, const SchemeOf& schemes, const Log& log);

}  // namespace carina::quantize
