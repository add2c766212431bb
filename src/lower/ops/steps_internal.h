#pragma once

#include "lower/lowering_internal.h"

namespace carina::lower {

// A tensor of int32 fixed-point numbers: an integer i represents i / 2^bits.
struct Fractions {
  ir::ValueId value;
  int bits = 0;
};

// Converts quantized integers to the real numbers that they represent, as fixed-point numbers. `bits` is the largest
// number of fraction bits, at most 22, with which all of them fit int32. So a number slightly below an integer is not
// rounded to that integer.
Fractions fractions_of(Lowering& in, ir::ValueId input, const Quantization& q);

// floor and trunc of fixed-point numbers, as integers in int32.
ir::ValueId floor_of(Lowering& in, const Fractions& x);
ir::ValueId trunc_of(Lowering& in, const Fractions& x);

// Returns whether the function is piecewise constant: sign, floor, ceil, round, trunc. A table whose entries are
// interpolated would turn its jumps into slopes.
bool is_step_function(AtenOp op);

// Lowers such an operator of quantized values exactly.
ir::ValueId step_function(Lowering& in, const ir::Node& node);

}  // namespace carina::lower
