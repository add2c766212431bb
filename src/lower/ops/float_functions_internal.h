#pragma once

#include <optional>

#include "lower/ops/float_math_internal.h"

namespace carina::lower::functions {

// Functions of fp32 as expressions of TOSA's, to a few units in the last place unless said otherwise. Outside of their
// domain they are NaN, at its ends what PyTorch gives.

ir::ValueId asin(FloatMath& f, ir::ValueId x);
ir::ValueId acos(FloatMath& f, ir::ValueId x);
ir::ValueId atan(FloatMath& f, ir::ValueId x);
// The angle of the point (x, y); both of one rank.
ir::ValueId atan2(FloatMath& f, ir::ValueId y, ir::ValueId x);
ir::ValueId asinh(FloatMath& f, ir::ValueId x);
ir::ValueId acosh(FloatMath& f, ir::ValueId x);
ir::ValueId atanh(FloatMath& f, ir::ValueId x);
ir::ValueId log1p(FloatMath& f, ir::ValueId x);
ir::ValueId expm1(FloatMath& f, ir::ValueId x);
ir::ValueId erfinv(FloatMath& f, ir::ValueId x);
// log(x / (1 - x)), with x first limited to [eps, 1 - eps].
ir::ValueId logit(FloatMath& f, ir::ValueId x, std::optional<double> eps);
// a to the power of b, of any signs and one rank; to a relative 1e-5.
ir::ValueId pow(FloatMath& f, ir::ValueId a, ir::ValueId b);

// The same for the entries of tables, where the standard library does not have it.
double erfinv(double x);

}  // namespace carina::lower::functions
