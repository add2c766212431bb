#pragma once

#include <functional>

#include "lower/lowering_internal.h"

namespace carina::lower {

// A function of one real, for the entries of a table.
using RealFunction = std::function<double(double)>;

// A quantized node of one operand as a lookup: TABLE with 256 entries from int8 to int8; else TABLE with 513 entries,
// between which TOSA interpolates, and a RESCALE. Where the function is not a number, an entry is that of the nearest
// place within its own step, else the zero point.
ir::ValueId by_table(Lowering& in, const ir::Node& node, const RealFunction& function);

// int8 or int16, each per tensor.
Refused takes_table(const Candidate& c);

}  // namespace carina::lower
