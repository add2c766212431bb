#pragma once

#include "lower/lowering_internal.h"

namespace carina::lower {

// Numbers in 32-bit fractions of 1: an integer stands for integer / 2^bits.
struct Fractions {
  ir::ValueId value;
  int bits = 0;
};

// What quantized integers stand for, in as many fraction bits as int32 has for all of them, at most 22: so that a number
// just below a whole one is not taken for it.
Fractions fractions_of(Lowering& in, ir::ValueId input, const Quantization& q);

// floor and trunc of fractions, as whole numbers in int32.
ir::ValueId floor_of(Lowering& in, const Fractions& x);
ir::ValueId trunc_of(Lowering& in, const Fractions& x);

// Whether the operator jumps from one step to the next, so that a table that interpolates between its entries would make
// slopes of the jumps: sign, floor, ceil, round, trunc.
bool is_step_function(AtenOp op);

// Such an operator of quantized values, exactly.
ir::ValueId step_function(Lowering& in, const ir::Node& node);

}  // namespace carina::lower
