#pragma once

#include <optional>

#include "lower/ops/float_math_internal.h"

namespace carina::lower::functions {

// Functions of fp32 as TOSA expressions, with an error of a few ULPs unless stated otherwise. Outside of their domain
// they return NaN; at its ends they return PyTorch's values.

ir::ValueId asin(FloatMath& f, ir::ValueId x);
ir::ValueId acos(FloatMath& f, ir::ValueId x);
ir::ValueId atan(FloatMath& f, ir::ValueId x);
// The angle of the point (x, y). Both operands have the same rank.
ir::ValueId atan2(FloatMath& f, ir::ValueId y, ir::ValueId x);
ir::ValueId asinh(FloatMath& f, ir::ValueId x);
ir::ValueId acosh(FloatMath& f, ir::ValueId x);
ir::ValueId atanh(FloatMath& f, ir::ValueId x);
ir::ValueId log1p(FloatMath& f, ir::ValueId x);
ir::ValueId expm1(FloatMath& f, ir::ValueId x);
ir::ValueId erfinv(FloatMath& f, ir::ValueId x);
// log(x / (1 - x)). If eps is given, x is first clamped to [eps, 1 - eps].
ir::ValueId logit(FloatMath& f, ir::ValueId x, std::optional<double> eps);
// a to the power of b, of any signs and equal rank. The relative error is at most 1e-5.
ir::ValueId pow(FloatMath& f, ir::ValueId a, ir::ValueId b);

// The same function for table entries, because the C++ standard library does not have it.
double erfinv(double x);

}  // namespace carina::lower::functions
