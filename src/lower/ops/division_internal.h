#pragma once

#include "ir/emitter.h"

namespace carina::lower {

// How the quotient becomes a whole number.
enum class Rounding : uint8_t { kFloor, kTrunc };

// a / b as a whole number, and what is left of a: with the sign of b (kFloor) or of a (kTrunc). fp32, broadcast.
ir::ValueId whole_quotient(ir::Emitter& out, ir::ValueId a, ir::ValueId b, Rounding rounding);
ir::ValueId remainder_of(ir::Emitter& out, ir::ValueId a, ir::ValueId b, Rounding rounding);

// The same in C++: one element, with the bits of PyTorch's kernels.
double whole_quotient(double a, double b, Rounding rounding);
double remainder_of(double a, double b, Rounding rounding);

}  // namespace carina::lower
