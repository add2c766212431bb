#pragma once

#include <map>

#include "carina/log.h"
#include "ir/graph.h"
#include "quantize/scheme.h"

namespace carina::quantize {

// Gives layers weights of 16 bits, as two layers with weights of 8 bits, since NPUs multiply by no others.
//   Example: a weight of 0.3141 and a scale of 0.01. The layer has 31 steps of it, 0.31. The 0.0041 that are missing
//   are 103 steps of a second layer, which reads the same input and has a scale of 0.01 / 254. A sum adds both results.
//
// `layers`: what they compute, and their schemes. One whose result has 8 bits keeps one layer, which a warning says: it
// would not show the weights' bits. Values and weights have parameters
// already. The results of both layers have the parameters of their sum: rounding the small second result to its steps
// costs as much as rounding the sum does, and the NPU adds without scaling. Time: linear in the weights.
using FineLayers = std::map<ir::ValueId, NodeScheme>;
void add_fine_weights(ir::Graph& graph, const FineLayers& layers, const Log& log);

}  // namespace carina::quantize
