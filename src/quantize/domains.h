#pragma once

#include <optional>

#include "carina/dtype.h"
#include "facts/aten_ops.h"
#include "ir/graph.h"

namespace carina::quantize {

// Gives the operands of functions that are defined between two numbers only (asin, acos, atanh) the fixed parameters of
// that domain, wherever what calibration has seen reaches beyond it: all integers stand for numbers of the domain then.
// A value that others read too stays as it is; the function reads a requantized clone.
void limit_domains(ir::Graph& graph);

// The end of the function's domain [-end, end] for integers of this type. No value if it is defined everywhere.
std::optional<double> domain_end(AtenOp op, DType dtype);

}  // namespace carina::quantize
