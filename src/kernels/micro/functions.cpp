#include "kernels/micro/targets.h"

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
// result. Otherwise (about one element in 8,000, and for NaN) the scalar function is called. So the bits depend neither
// on the width of vectors nor on fused operations.
//   Example: a float has 29 bits less than a double. If these are far from their middle, 2^28, then doubles nearby
//   round to the same float. That is one test of integers, where rounding both ends takes two conversions and a
//   comparison.

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
// (TANH near 1e-3, where 1 - e^-2x loses ten bits), 2^-41 for ERF's quotient, 2^-40 for the polynomial of EXP.
constexpr double kMargin = 0x1p-39;
constexpr int64_t kMarginBits = int64_t{1} << (53 - 39);  // the lowest bit is 2^-53 to 2^-52 of the value
constexpr int64_t kMiddle = int64_t{1} << 28;             // of the bits that a float does not have

// The arguments whose results are 0 or normal floats: 0 and magnitudes in [kSmallest, kLargest]. Others are computed by
// rounding both ends of the interval.
struct AllNormal {
  static constexpr float kSmallest = 0x1p-100F, kLargest = std::numeric_limits<float>::max();
};
struct NoneNormal {
  static constexpr float kSmallest = 0, kLargest = -1;
};

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

// The same as two chains, of the even and of the odd coefficients: fewer instructions, but a longer way through them.
template <size_t N>
HWY_INLINE V polynomial_in_chains(const std::array<double, N>& coefficients, V x) {
  const V square = hn::Mul(x, x);
  V first = set(coefficients[N - 1]), second = set(coefficients[N - 2]);
  HWY_UNROLL(16)
  for (size_t i = N - 2; i > 1; i -= 2) {
    first = hn::MulAdd(first, square, set(coefficients[i - 1]));
    second = hn::MulAdd(second, square, set(coefficients[i - 2]));
  }
  if constexpr (N % 2 == 0) return hn::MulAdd(first, x, second);
  return hn::MulAdd(second, x, hn::MulAdd(first, square, set(coefficients[0])));
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

// x = n * ln 2 + rest for |x| < 700, and 2^n.
struct Reduced {
  V rest, power;
};
HWY_INLINE Reduced reduce(V x) {
  const Whole n = nearest(hn::Mul(x, set(std::numbers::log2e)));
  return {.rest = hn::NegMulAdd(n.value, set(kLn2Low), hn::NegMulAdd(n.value, set(kLn2High), x)),
          .power = hn::BitCast(D(), hn::ShiftLeft<52>(hn::Add(n.bits, hn::Set(DI(), 1023))))};
}

// e^x for |x| < 700, within 2^-40.2 of the value: e^rest is the polynomial of this degree with the smallest relative
// error on |rest| <= ln 2 / 2 (Remez's algorithm).
HWY_INLINE V exponential(V x) {
  static constexpr std::array<double, 9> kCoefficients{
      0x1.ffffffffff7a1p-1, 0x1.ffffffffd55b3p-1,  0x1.00000000880e6p-1,  0x1.555555a08cd56p-3, 0x1.55555404e02c9p-5,
      0x1.111082a120103p-7, 0x1.6c18b3696fa2fp-10, 0x1.a1a82fbcbad1dp-13, 0x1.9eda868eec05ep-16};
  const auto [rest, power] = reduce(x);
  return hn::Mul(polynomial_in_chains(kCoefficients, rest), power);
}

// The same with all bits of a double, up to rounding.
HWY_INLINE V precise_exponential(V x) {
  static constexpr auto kSeries = series<14>(0, 1);
  const auto [rest, power] = reduce(x);
  return hn::Mul(polynomial(kSeries, rest), power);
}

HWY_INLINE V not_sure() {
  return set(std::numeric_limits<double>::quiet_NaN());
}

// A smaller e^x is rounded to 0 as this one is, and a larger one to infinity.
constexpr double kMinExponent = -105, kMaxExponent = 89;

struct Exp {
  static constexpr float kSmallest = 0, kLargest = 87;
  static HWY_INLINE V of(V x) { return exponential(hn::Min(hn::Max(x, set(kMinExponent)), set(kMaxExponent))); }
};

struct Sigmoid {
  static constexpr float kSmallest = 0, kLargest = 87;
  static HWY_INLINE V of(V x) {
    const V e = exponential(hn::Neg(hn::Min(hn::Max(x, set(kMinExponent)), set(-kMinExponent))));
    return hn::Div(set(1), hn::Add(set(1), e));
  }
};

struct Tanh : AllNormal {
  static HWY_INLINE V of(V x) {
    const V magnitude = hn::Abs(x);
    const V e = precise_exponential(hn::Mul(set(-2), hn::Min(magnitude, set(100))));
    const V value = hn::CopySign(hn::Div(hn::Sub(set(1), e), hn::Add(set(1), e)), x);
    const V small = hn::Sub(x, hn::Div(hn::Mul(hn::Mul(x, x), x), set(3)));
    return hn::IfThenElse(hn::Lt(magnitude, set(1e-3F)), small, value);
  }
};

struct Log : NoneNormal {
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
struct Sin : NoneNormal {
  static HWY_INLINE V of(V x) { return sine_of(x, 0); }
};
struct Cos : NoneNormal {
  static HWY_INLINE V of(V x) { return sine_of(x, 1); }
};

// erf(x) / x as a quotient of two polynomials of u = x^2 * 2 / kLargest^2 - 1 for |x| <= kLargest, within 2^-41.2 of
// the value. Their coefficients are a fit at 160 Chebyshev points, whose weights are changed until the largest errors
// are equal. From kLargest on, erf(x) is rounded to 1.
struct Erf : AllNormal {
  static HWY_INLINE V of(V x) {
    constexpr double kLargest = 3.9375;
    static constexpr std::array<double, 9> kAbove{0x1.6fc14a09a5633p-2, 0x1.c9947963b4875p-1,  0x1.0b00a86a4f603p+0,
                                                  0x1.6a15d25adcc29p-1, 0x1.34a7f8b5828e6p-2,  0x1.3c54814de8637p-4,
                                                  0x1.621fae49d0ec3p-7, 0x1.a0040f2470f2fp-12, -0x1.b59543384539cp-18};
    static constexpr std::array<double, 8> kBelow{0x1.0000000000000p+0, 0x1.7e712cf7faddbp+1, 0x1.018bc4b58bbebp+2,
                                                  0x1.95d4cd77a3173p+1, 0x1.945bbc5cde958p+0, 0x1.fdc0284d4d110p-2,
                                                  0x1.786c0e65d4543p-4, 0x1.f6283c0373c77p-8};
    const V bounded = hn::Min(hn::Max(x, set(-kLargest)), set(kLargest));
    const V u = hn::MulSub(hn::Mul(bounded, bounded), set(2 / (kLargest * kLargest)), set(1));
    return hn::Div(hn::Mul(bounded, polynomial_in_chains(kAbove, u)), polynomial_in_chains(kBelow, u));
  }
};

// A square root and a quotient, each rounded once, as in the scalar function.
struct Rsqrt : NoneNormal {
  static HWY_INLINE V of(V x) { return hn::Div(set(1), hn::Sqrt(x)); }
};

constexpr int64_t kBlock = 32;  // elements that are computed before it is asked whether all are sure

// A block with elements that are not sure.
template <typename Formula, float (*Scalar)(float)>
HWY_NOINLINE void settle(const float* in, int64_t count, float* out) {
  const DF df;
  alignas(64) float lowest[HWY_LANES(double)], highest[HWY_LANES(double)];
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  for (int64_t i = 0; i < count; i += lanes) {
    const auto x = hn::LoadU(df, in + i);
    const V value = Formula::of(hn::PromoteTo(D(), x));
    const auto below = hn::DemoteTo(df, hn::Mul(value, set(1 - kMargin)));
    const auto above = hn::DemoteTo(df, hn::Mul(value, set(1 + kMargin)));
    hn::StoreU(below, df, out + i);
    if (HWY_LIKELY(hn::AllTrue(df, hn::And(hn::Eq(below, above), hn::Eq(x, x))))) continue;
    hn::Store(below, df, lowest);
    hn::Store(above, df, highest);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      if (lowest[lane] != highest[lane] || in[i + lane] != in[i + lane]) out[i + lane] = Scalar(in[i + lane]);
    }
  }
}

// Returns whether all elements of a block are in the range of Formula.
template <typename Formula>
HWY_INLINE bool are_in_range(const float* in, int64_t count) {
  if constexpr (Formula::kLargest < Formula::kSmallest) return false;
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  // 0 is greater than all of them after the subtraction of 1.
  auto least = hn::Set(du, ~uint32_t{0}), most = hn::Zero(du);
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto magnitude = hn::BitCast(du, hn::Abs(hn::LoadU(d, in + i)));
    most = hn::Max(most, magnitude);
    if constexpr (Formula::kSmallest > 0) least = hn::Min(least, hn::Sub(magnitude, hn::Set(du, 1)));
  }
  constexpr auto kSmallest = std::bit_cast<uint32_t>(Formula::kSmallest);
  const auto too_small = hn::Gt(hn::Set(du, kSmallest == 0 ? 0 : kSmallest - 1), least);
  return hn::AllFalse(du, hn::Or(too_small, hn::Gt(most, hn::Set(du, std::bit_cast<uint32_t>(Formula::kLargest)))));
}

// The elements of a block, as whole vectors of floats. The loop has no calls, so that its constants stay in registers.
template <typename Formula, float (*Scalar)(float)>
HWY_INLINE void apply_block(const float* in, int64_t count, float* out) {
  const DF df;
  const DI di;
  if (are_in_range<Formula>(in, count)) {
    VI unsure = hn::Zero(di);
    for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(df))) {
      const V value = Formula::of(hn::PromoteTo(D(), hn::LoadU(df, in + i)));
      hn::StoreU(hn::DemoteTo(df, value), df, out + i);
      const VI raised = hn::Add(hn::BitCast(di, value), hn::Set(di, kMiddle + kMarginBits));
      const VI is_far = hn::And(raised, hn::Set(di, 2 * kMiddle - 2 * kMarginBits));  // 0: near the middle
      unsure = hn::Or(unsure, hn::VecFromMask(di, hn::Eq(is_far, hn::Zero(di))));
    }
    if (HWY_LIKELY(hn::AllTrue(di, hn::Eq(unsure, hn::Zero(di))))) return;
  }
  settle<Formula, Scalar>(in, count, out);
}

// If `out` is `in`, the results of a block are kept apart until all are sure.
template <typename Formula, float (*Scalar)(float)>
void apply_formula(const float* in, float* out, int64_t count) {
  alignas(64) float rest[kBlock], results[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t length = std::min(kBlock, count - begin);
    const float* from = in + begin;
    const int64_t padded = (length + kLanes - 1) / kLanes * kLanes;
    if (length < padded) {
      std::fill(std::copy_n(from, length, rest), rest + padded, 1.0F);
      from = rest;
    }
    const bool is_apart = length == padded && out != in;
    apply_block<Formula, Scalar>(from, padded, is_apart ? out + begin : results);
    if (!is_apart) std::copy_n(results, length, out + begin);
  }
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
