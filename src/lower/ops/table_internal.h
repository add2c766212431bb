#pragma once

#include <functional>

#include "lower/lowering_internal.h"

namespace carina::lower {

// A function of one real number, from which tables are computed.
using RealFunction = std::function<double(double)>;

// Lowers a quantized node of one operand to a table lookup. int8 to int8 is a TABLE with 256 entries. Other types are a
// TABLE with 513 entries, between which TOSA interpolates, and a RESCALE. If the function is NaN at an entry, the entry
// gets the value at the nearest point within its own step, else (of 8 bits) the zero point, (of 16) the nearest entry.
ir::ValueId by_table(Lowering& in, const ir::Node& node, const RealFunction& function);

// Checks that input and output are int8 or int16, quantized per tensor.
Rejected takes_table(const Candidate& c);

}  // namespace carina::lower
