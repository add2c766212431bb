#pragma once

#include "ir/graph.h"

namespace carina::quantize {

// Gives the operands of functions that are defined between two numbers only (asin, acos, atanh) the fixed parameters of
// that domain, wherever what calibration has seen reaches beyond it: all integers stand for numbers of the domain then.
// A value that others read too stays as it is; the function reads a requantized clone.
void limit_domains(ir::Graph& graph);

}  // namespace carina::quantize
