#pragma once

#include "ir/emitter.h"

namespace carina::lower {

// The rounding of the quotient.
enum class Rounding : uint8_t { kFloor, kTrunc };

// The rounded quotient a / b, and the remainder, which has the sign of b (kFloor) or of a (kTrunc). fp32 with
// broadcasting.
ir::ValueId whole_quotient(ir::Emitter& out, ir::ValueId a, ir::ValueId b, Rounding rounding);
ir::ValueId remainder_of(ir::Emitter& out, ir::ValueId a, ir::ValueId b, Rounding rounding);

// The same function of two numbers in C++, with the bits of PyTorch's kernels.
double whole_quotient(double a, double b, Rounding rounding);
double remainder_of(double a, double b, Rounding rounding);

}  // namespace carina::lower
