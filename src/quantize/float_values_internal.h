#pragma once

#include "ir/graph.h"

namespace carina::quantize {

// Returns the float graph whose weights are those of a quantized graph, rounded, and whose values are not. What it
// loses is the share of the weights: finer values cannot bring more than the rest.
//   Example: 8 bits leave 10 dB in an output, and 11 dB if only the weights are rounded. 16 bits in any values bring 1
//   dB at most, so that they need not be tried.
ir::Graph with_float_values(ir::Graph quantized);

}  // namespace carina::quantize
