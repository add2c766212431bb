#include "kernels/micro/targets_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/functions.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numbers>
#include <utility>

#include "carina/check.h"
#include "kernels/micro/float_math.h"
#include "kernels/micro/microkernels.h"

// The scalar functions of float_math define the bits of the results. The vector code computes doubles within a relative
// error of kMargin of the scalar ones. If all doubles in this interval round to the same float, that float is the
// result. Otherwise (about one element in 16,000, and for NaN) the scalar function is called. So the bits depend
// neither on the width of vectors nor on fused operations.

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

template <float (*Scalar)(float)>
void apply_scalar(const float* in, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = Scalar(in[i]);
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || !HWY_HAVE_FLOAT64

template <typename Formula, float (*Scalar)(float)>
void apply_formula(const float* in, float* out, int64_t count) {
  apply_scalar<Scalar>(in, out, count);
}
struct Exp {};
struct Log {};
struct Sin {};
struct Cos {};
struct Tanh {};
struct Sigmoid {};
struct Erf {};
struct Rsqrt {};

#else

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<double>;
using DI = hn::RebindToSigned<D>;
using DF = hn::Rebind<float, D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;

// Much more than the difference between the vector formulas and the scalar functions: at most about 2^-42 of the value
// (TANH near 1e-3, where 1 - e^-2x loses ten bits), 2^-41 for ERF's polynomial, 2^-47 for 12 terms of EXP.
constexpr double kMargin = 0x1p-39;

HWY_INLINE V set(double value) {
  return hn::Set(D(), value);
}

// Evaluates a polynomial, with the lowest coefficient first. The sum is divided into halves that are independent of
// each other, to hide latency.
template <size_t kFirst, size_t kCount, size_t N>
HWY_INLINE V polynomial(const std::array<double, N>& coefficients, const std::array<V, 6>& powers) {
  if constexpr (kCount == 1) {
    return set(coefficients[kFirst]);
  } else {
    constexpr int kLog2 = std::bit_width(kCount - 1) - 1;  // of the largest power of two below kCount
    constexpr size_t kLow = size_t{1} << kLog2;
    return hn::MulAdd(polynomial<kFirst + kLow, kCount - kLow>(coefficients, powers), powers[kLog2],
                      polynomial<kFirst, kLow>(coefficients, powers));
  }
}
template <size_t N>
HWY_INLINE V polynomial(const std::array<double, N>& coefficients, V x) {
  std::array<V, 6> powers{x};  // powers of x, each the square of the previous one
  for (size_t i = 1; i < std::bit_width(N - 1); ++i) powers[i] = hn::Mul(powers[i - 1], powers[i - 1]);
  return polynomial<0, N>(coefficients, powers);
}

constexpr double inverse_factorial(int n) {
  return n <= 1 ? 1.0 : inverse_factorial(n - 1) / n;
}

// `step`: 1 for all powers, 2 for every other power with alternating signs.
template <size_t N>
constexpr std::array<double, N> series(int first, int step) {
  std::array<double, N> result{};
  for (size_t i = 0; i < N; ++i) {
    const int sign = step == 2 && i % 2 == 1 ? -1 : 1;
    result[i] = sign * inverse_factorial(first + step * static_cast<int>(i));
  }
  return result;
}

// An integer as a double and as an integer. Its magnitude is below 2^31.
struct Whole {
  V value;
  VI bits;  // the integer in the low bits, a constant in the others
};
HWY_INLINE Whole nearest(V x) {
  const V magic = set(0x1.8p52);  // adding it leaves no fraction bits
  const V sum = hn::Add(x, magic);
  return {.value = hn::Sub(sum, magic), .bits = hn::BitCast(DI(), sum)};
}

constexpr double kLn2High = 0x1.62e42fefap-1;
constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;

// e^x for |x| < 700.
template <size_t kTerms>
HWY_INLINE V exponential(V x) {
  static constexpr auto kSeries = series<kTerms>(0, 1);
  const Whole n = nearest(hn::Mul(x, set(std::numbers::log2e)));
  const V r = hn::NegMulAdd(n.value, set(kLn2Low), hn::NegMulAdd(n.value, set(kLn2High), x));
  const V power = hn::BitCast(D(), hn::ShiftLeft<52>(hn::Add(n.bits, hn::Set(DI(), 1023))));
  return hn::Mul(polynomial(kSeries, r), power);
}

HWY_INLINE V not_sure() {
  return set(std::numeric_limits<double>::quiet_NaN());
}

// For smaller x, e^x is rounded to 0.
constexpr double kMinExponent = -104;
constexpr double kMaxExponent = 89;  // above it, the result is infinity

struct Exp {
  static HWY_INLINE V of(V x) {
    const V value = exponential<12>(hn::Min(hn::Max(x, set(kMinExponent)), set(kMaxExponent)));
    const V some = hn::IfThenElse(hn::Lt(x, set(kMinExponent)), hn::Zero(D()), value);
    return hn::IfThenElse(hn::Lt(x, set(kMaxExponent)), some, not_sure());
  }
};

struct Sigmoid {
  static HWY_INLINE V of(V x) {
    const V e = exponential<12>(hn::Neg(hn::Min(hn::Max(x, set(-100)), set(100))));
    const V value = hn::Div(set(1), hn::Add(set(1), e));
    return hn::IfThenElse(hn::Gt(x, set(-100)), value, not_sure());
  }
};

struct Tanh {
  static HWY_INLINE V of(V x) {
    const V magnitude = hn::Abs(x);
    const V e = exponential<14>(hn::Mul(set(-2), hn::Min(magnitude, set(100))));
    const V value = hn::CopySign(hn::Div(hn::Sub(set(1), e), hn::Add(set(1), e)), x);
    const V small = hn::Sub(x, hn::Div(hn::Mul(hn::Mul(x, x), x), set(3)));
    const V result = hn::IfThenElse(hn::Lt(magnitude, set(1e-3F)), small, value);
    return hn::IfThenElse(hn::Eq(x, x), result, not_sure());
  }
};

struct Log {
  static HWY_INLINE V of(V x) {
    static constexpr std::array<double, 13> kSeries{2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,
                                                    2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19,
                                                    2.0 / 21, 2.0 / 23, 2.0 / 25};
    const DI di;
    const VI bits = hn::BitCast(di, x);
    const VI one = hn::BitCast(di, set(1));
    // Normalizes the mantissa to [sqrt(1/2), sqrt(2)); larger ones increment the exponent.
    const VI raised = hn::Add(bits, hn::Set(di, 0x0009'5F61'9980'C433));  // the bits of 2 minus those of sqrt(2)
    const VI exponent = hn::Sub(hn::ShiftRight<52>(raised), hn::Set(di, 1023));
    const V mantissa = hn::BitCast(D(), hn::Sub(bits, hn::ShiftLeft<52>(exponent)));
    const V n = hn::Sub(hn::BitCast(D(), hn::Add(exponent, hn::BitCast(di, set(0x1.8p52)))), set(0x1.8p52));
    const V f = hn::Div(hn::Sub(mantissa, hn::BitCast(D(), one)), hn::Add(mantissa, hn::BitCast(D(), one)));
    const V low = hn::MulAdd(f, polynomial(kSeries, hn::Mul(f, f)), hn::Mul(n, set(kLn2Low)));
    const V result = hn::MulAdd(n, set(kLn2High), low);
    const auto ordinary = hn::And(hn::Gt(x, hn::Zero(D())), hn::Lt(x, set(std::numeric_limits<double>::infinity())));
    return hn::IfThenElse(ordinary, result, not_sure());
  }
};

// x = n * pi/2 + rest for |x| < 2^20, as in float_math. Returns the sine or the cosine of rest, with the sign of the
// quadrant.
HWY_INLINE V sine_of(V x, int64_t quadrants) {
  static constexpr auto kSine = series<10>(1, 2);
  static constexpr auto kCosine = series<10>(0, 2);
  const DI di;
  const Whole n = nearest(hn::Mul(x, set(2 * std::numbers::inv_pi)));
  const V high = hn::NegMulAdd(n.value, set(0x1.921fb544p+0), x);
  const V rest =
      hn::NegMulAdd(n.value, set(0x1.3198a2e037073p-69), hn::NegMulAdd(n.value, set(0x1.0b4611a6p-34), high));
  const V square = hn::Mul(rest, rest);
  const VI quadrant = hn::Add(n.bits, hn::Set(di, quadrants));
  const V odd = hn::BitCast(D(), hn::ShiftLeft<63>(quadrant));  // its sign tells whether the cosine is needed
  const V sign =
      hn::BitCast(D(), hn::And(hn::ShiftLeft<62>(quadrant), hn::Set(di, std::numeric_limits<int64_t>::min())));
  const V sine = hn::Mul(rest, polynomial(kSine, square));
  const V value = hn::Xor(hn::IfNegativeThenElse(odd, polynomial(kCosine, square), sine), sign);
  return hn::IfThenElse(hn::Lt(hn::Abs(x), set(0x1p20)), value, not_sure());
}
struct Sin {
  static HWY_INLINE V of(V x) { return sine_of(x, 0); }
};
struct Cos {
  static HWY_INLINE V of(V x) { return sine_of(x, 1); }
};

// erf(x) / x as a polynomial of x^2 / 8 - 1, for |x| < 4. It interpolates at 80 Chebyshev points and keeps the first 23
// terms (an error of at most 2^-41 of the value).
struct Erf {
  static HWY_INLINE V of(V x) {
    static constexpr std::array<double, 23> kCoefficients{
        0x1.6a040781a4860p-2,  -0x1.69a0ccda54eb0p-3,  0x1.0dabaf0640271p-3,  -0x1.b92e95b1dbde1p-4,
        0x1.717efc67db63ap-4,  -0x1.3215da4dbe7f0p-4,  0x1.ea97f3acee70bp-5,  -0x1.76e83ebf92ec5p-5,
        0x1.0ed5153179f5fp-5,  -0x1.7036ee74abbd7p-6,  0x1.d6372c79e2aaep-7,  -0x1.19f278d228511p-7,
        0x1.3e06b4eb1096bp-8,  -0x1.5291244c4f336p-9,  0x1.53603b08b5002p-10, -0x1.3d19cf9d714f6p-11,
        0x1.1da9fde26ad63p-12, -0x1.0958b34b5e98ep-13, 0x1.abdee84424152p-15, -0x1.a77aba462325dp-17,
        0x1.465d0dbfebee8p-18, -0x1.33fa49e9ee9b1p-18, 0x1.99998a5c917c1p-20};
    const V scaled = hn::MulSub(hn::Mul(x, x), set(0.125), set(1));
    const V value = hn::Mul(x, polynomial(kCoefficients, scaled));
    const V result = hn::IfThenElse(hn::Lt(hn::Abs(x), set(4)), value, hn::CopySign(set(1), x));
    return hn::IfThenElse(hn::Eq(x, x), result, not_sure());
  }
};

// A square root and a quotient, each rounded once, as in the scalar function.
struct Rsqrt {
  static HWY_INLINE V of(V x) { return hn::Div(set(1), hn::Sqrt(x)); }
};

template <typename Formula, float (*Scalar)(float)>
HWY_INLINE void apply_vector(const float* in, float* out) {
  const DF df;
  const auto x = hn::LoadU(df, in);
  const V value = Formula::of(hn::PromoteTo(D(), x));
  const auto below = hn::DemoteTo(df, hn::Mul(value, set(1 - kMargin)));
  const auto above = hn::DemoteTo(df, hn::Mul(value, set(1 + kMargin)));
  if (HWY_LIKELY(hn::AllTrue(df, hn::Eq(below, above)))) return hn::StoreU(below, df, out);
  alignas(64) float lowest[HWY_LANES(double)], highest[HWY_LANES(double)];
  hn::Store(below, df, lowest);
  hn::Store(above, df, highest);
  for (size_t lane = 0; lane < hn::Lanes(df); ++lane)
    out[lane] = lowest[lane] == highest[lane] ? lowest[lane] : Scalar(in[lane]);
}

// The last vector is moved back so that it ends with the elements. Some are computed twice; they are computed before
// the previous ones are written, because `out` may be `in`.
template <typename Formula, float (*Scalar)(float)>
void apply_formula(const float* in, float* out, int64_t count) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  if (count < lanes) return apply_scalar<Scalar>(in, out, count);
  float last[HWY_LANES(double)];
  apply_vector<Formula, Scalar>(in + count - lanes, last);
  for (int64_t i = 0; i < count - lanes; i += lanes) apply_vector<Formula, Scalar>(in + i, out + i);
  std::copy_n(last, lanes, out + count - lanes);
}

#endif

void apply_here(Function function, const float* in, float* out, int64_t count) {
  switch (function) {
    case Function::kExp:
      return apply_formula<Exp, exact_exp>(in, out, count);
    case Function::kLog:
      return apply_formula<Log, exact_log>(in, out, count);
    case Function::kSin:
      return apply_formula<Sin, exact_sin>(in, out, count);
    case Function::kCos:
      return apply_formula<Cos, exact_cos>(in, out, count);
    case Function::kTanh:
      return apply_formula<Tanh, exact_tanh>(in, out, count);
    case Function::kSigmoid:
      return apply_formula<Sigmoid, exact_sigmoid>(in, out, count);
    case Function::kErf:
      return apply_formula<Erf, exact_erf>(in, out, count);
    case Function::kRsqrt:
      return apply_formula<Rsqrt, exact_rsqrt>(in, out, count);
  }
  CARINA_UNREACHABLE("function", static_cast<int>(function));
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(apply_here);

void apply(Function function, const float* in, float* out, int64_t count) {
  HWY_DYNAMIC_DISPATCH(apply_here)(function, in, out, count);
}

}  // namespace carina::kernels
#endif
