#include "lower/ops/float_functions_internal.h"

#include <cmath>
#include <numbers>

namespace carina::lower::functions {

using ir::ValueId;
using std::numbers::pi;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// (asin(r) / r - 1) / r^2 as a function of z = r^2, for r up to 0.5. Source: the Cephes library, asinf.
ValueId asin_tail(FloatMath& f, ValueId z) {
  return f.polynomial(z, {4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1, 0});
}

// asin(|x|). For |x| <= 0.5 directly, otherwise by asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)).
struct ArcSine {
  ValueId inner;  // whether |x| <= 0.5
  ValueId angle;  // asin(|x|), or asin(sqrt((1 - |x|) / 2)); NaN where |x| > 1
};
ArcSine arc_sine(FloatMath& f, ValueId x) {
  const ValueId magnitude = f.abs(x);
  const ValueId inner = f.less(magnitude, 0.5);
  const ValueId half = f.mul(f.sub(1.0, magnitude), 0.5);
  const ValueId square = f.select(inner, f.mul(x, x), half);
  const ValueId root = f.select(inner, magnitude, f.sqrt(half));
  return {.inner = inner, .angle = f.add(root, f.mul(root, asin_tail(f, square)))};
}

// atan of 0 <= x <= 1. Source: the Cephes library, atanf.
ValueId small_atan(FloatMath& f, ValueId x) {
  constexpr double kTanOfEighth = 0.41421356237309503;  // tan(pi / 8)
  const ValueId wide = f.greater(x, kTanOfEighth);
  const ValueId divisor = f.reciprocal(f.add(x, 1));
  const ValueId turned = f.mul(f.add(x, -1), divisor);  // tan(a - pi / 4)
  const ValueId r = f.select(wide, turned, x);
  const ValueId square = f.mul(r, r);
  const ValueId tail =
      f.polynomial(square, {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1, 0});
  const ValueId angle = f.add(r, f.mul(r, tail));
  return f.select(wide, f.add(angle, pi / 4), angle);
}

// atan of x >= 0, which may be infinite.
ValueId positive_atan(FloatMath& f, ValueId x) {
  const ValueId steep = f.greater(x, 1.0);
  const ValueId angle = small_atan(f, f.select(steep, f.reciprocal(x), x));
  return f.select(steep, f.sub(pi / 2, angle), angle);
}

// M. Giles, "Approximating the erfinv function", GPU Computing Gems 2: coefficients for w = -log(1 - x^2) below 5 and
// above.
constexpr std::initializer_list<double> kErfinvCenter{2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                                      -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                                      -0.00417768164,  0.246640727,    1.50140941};
constexpr std::initializer_list<double> kErfinvTail{-0.000200214257, 0.000100950558, 0.00134934322,
                                                    -0.00367342844,  0.00573950773,  -0.0076224613,
                                                    0.00943887047,   1.00167406,     2.83297682};

double polynomial(double x, std::initializer_list<double> coefficients) {
  double sum = 0;
  for (const double c : coefficients) sum = sum * x + c;
  return sum;
}

}  // namespace

ValueId asin(FloatMath& f, ValueId x) {
  const ArcSine arc = arc_sine(f, x);
  const ValueId outer = f.sub(pi / 2, f.mul(arc.angle, 2));
  return f.signed_like(f.select(arc.inner, arc.angle, outer), x);
}

ValueId acos(FloatMath& f, ValueId x) {
  const ArcSine arc = arc_sine(f, x);
  const ValueId twice = f.mul(arc.angle, 2);
  const ValueId mirrored = f.sub(pi, twice);
  const ValueId outer = f.select(f.less(x, 0), mirrored, twice);
  return f.select(arc.inner, f.sub(pi / 2, f.signed_like(arc.angle, x)), outer);
}

ValueId atan(FloatMath& f, ValueId x) {
  return f.signed_like(positive_atan(f, f.abs(x)), x);
}

// The angle of (|x|, |y|), mirrored to the quadrant of (x, y). For the point 0, the quotient 0 / 0 is replaced by 0.
ValueId atan2(FloatMath& f, ValueId y, ValueId x) {
  const ValueId height = f.abs(y), width = f.abs(x);
  const ValueId steep = f.greater(height, width);
  const ValueId longer = f.select(steep, height, width), shorter = f.select(steep, width, height);
  const ValueId ratio = f.mul(shorter, f.reciprocal(longer));
  // 0 / 0 becomes 0, and infinity / infinity becomes 1.
  const ValueId finite = f.select(f.equal(shorter, kInfinity), 1.0, ratio);
  const ValueId same = f.select(f.equal(longer, 0), 0.0, finite);
  const ValueId angle = small_atan(f, same);
  const ValueId first = f.select(steep, f.sub(pi / 2, angle), angle);
  const ValueId mirrored = f.sub(pi, first);
  return f.signed_like(f.select(f.less(x, 0), mirrored, first), y);
}

// log(1 + x), corrected by the part of x that the sum 1 + x loses.
ValueId log1p(FloatMath& f, ValueId x) {
  const ValueId sum = f.add(x, 1);
  const ValueId divisor = f.reciprocal(sum);
  const ValueId lost = f.mul(f.sub(x, f.add(sum, -1)), divisor);
  const ValueId is_small = f.less(f.abs(x), 0.5);
  const ValueId correction = f.select(is_small, lost, 0.0);
  return f.add(f.log(sum), correction);
}

// exp(x) - 1. Near 0 it uses the series.
ValueId expm1(FloatMath& f, ValueId x) {
  const ValueId series = f.polynomial(x, {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 0});
  const ValueId difference = f.add(f.exp(x), -1);
  return f.select(f.less(f.abs(x), 0.5), series, difference);
}

// log(a + sqrt(a^2 + 1)) as log1p(a + a^2 / (1 + sqrt(a^2 + 1))). If the square would overflow, it is log(2a).
ValueId asinh(FloatMath& f, ValueId x) {
  constexpr double kLarge = 1e9;
  const ValueId magnitude = f.abs(x);
  const ValueId square = f.mul(x, x);
  const ValueId rise = f.mul(square, f.reciprocal(f.add(f.sqrt(f.add(square, 1)), 1)));
  const ValueId far = f.add(f.log(magnitude), std::numbers::ln2);
  const ValueId near = log1p(f, f.add(magnitude, rise));
  const ValueId result = f.select(f.greater(magnitude, kLarge), far, near);
  return f.signed_like(result, x);
}

// log(x + sqrt(x^2 - 1)) as log1p(t + sqrt(t (t + 2))), t = x - 1.
ValueId acosh(FloatMath& f, ValueId x) {
  constexpr double kLarge = 1e9;
  const ValueId t = f.add(x, -1);
  const ValueId near = log1p(f, f.add(t, f.sqrt(f.mul(t, f.add(x, 1)))));
  const ValueId far = f.add(f.log(x), std::numbers::ln2);
  const ValueId result = f.select(f.greater(x, kLarge), far, near);
  return f.select(f.less(x, 1), kNaN, result);
}

// log((1 + a) / (1 - a)) / 2 as log1p(2a / (1 - a)) / 2.
ValueId atanh(FloatMath& f, ValueId x) {
  const ValueId magnitude = f.abs(x);
  const ValueId divisor = f.reciprocal(f.sub(1.0, magnitude));
  const ValueId ratio = f.mul(f.mul(magnitude, 2), divisor);
  const ValueId result = f.mul(log1p(f, ratio), 0.5);
  const ValueId signed_result = f.signed_like(result, x);
  return f.select(f.greater(magnitude, 1.0), kNaN, signed_result);
}

ValueId erfinv(FloatMath& f, ValueId x) {
  const ValueId sum = f.add(x, 1);
  const ValueId w = f.negate(f.log(f.mul(f.sub(1.0, x), sum)));
  const ValueId center = f.polynomial(f.add(w, -2.5), kErfinvCenter);
  const ValueId tail = f.polynomial(f.add(f.sqrt(w), -3), kErfinvTail);
  const ValueId result = f.mul(f.select(f.less(w, 5), center, tail), x);
  const ValueId infinite = f.mul(x, kInfinity);
  return f.select(f.equal(f.abs(x), 1), infinite, result);
}

double erfinv(double x) {
  if (std::abs(x) >= 1) return std::abs(x) > 1 ? kNaN : x * kInfinity;
  const double w = -std::log((1 - x) * (1 + x));
  return x * (w < 5 ? polynomial(w - 2.5, kErfinvCenter) : polynomial(std::sqrt(w) - 3, kErfinvTail));
}

ValueId logit(FloatMath& f, ValueId x, std::optional<double> eps) {
  const ValueId limited = eps ? f.clamp(x, *eps, 1 - *eps) : x;
  const ValueId log_of_rest = f.log(f.sub(1.0, limited));
  return f.sub(f.log(limited), log_of_rest);
}

// exp(b log(|a|)). A negative base has a real result for integer exponents only; odd exponents make it negative.
ValueId pow(FloatMath& f, ValueId a, ValueId b) {
  const ValueId power = f.exp(f.mul(b, f.log(f.abs(a))));
  const ValueId half = f.mul(b, 0.5);
  const ValueId is_even = f.equal(f.apply(TosaOp::FLOOR, half), half);
  const ValueId is_whole = f.equal(f.apply(TosaOp::FLOOR, b), b);
  const ValueId of_negative = f.select(is_even, power, f.select(is_whole, f.negate(power), kNaN));
  const ValueId result = f.select(f.less(a, 0), of_negative, power);
  const ValueId of_base_one = f.select(f.equal(a, 1), 1.0, result);
  return f.select(f.equal(b, 0), 1.0, of_base_one);
}

}  // namespace carina::lower::functions
