#pragma once

#include <optional>

#include "carina/dtype.h"
#include "facts/aten_ops.h"
#include "ir/graph.h"

namespace carina::quantize {

// Gives the operands of functions with a bounded domain (asin, acos, atanh) the fixed parameters of that domain, if the
// calibrated range exceeds it. So every integer represents a number inside the domain. If other nodes read the operand
// too, it stays unchanged and the function reads a requantized clone.
void limit_domains(ir::Graph& graph);

// The end of the function's domain [-end, end] for integers of this type. No value if it is defined everywhere.
std::optional<double> domain_end(AtenOp op, DType dtype);

}  // namespace carina::quantize
