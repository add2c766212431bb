#include "frontend/tflite/kernels/fixed_point_internal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace carina::tflite {

Multiplier multiplier_of(double real) {
  if (real == 0) return {};
  if (!std::isfinite(real)) return {.multiplier = 1 << 30, .exponent = kTooLarge};
  Multiplier out;
  const double mantissa = std::frexp(real, &out.exponent);
  auto fixed = static_cast<int64_t>(std::round(mantissa * static_cast<double>(int64_t{1} << 31)));
  if (fixed == int64_t{1} << 31) {
    fixed /= 2;
    ++out.exponent;
  }
  if (out.exponent < -31) return {};
  out.multiplier = static_cast<int32_t>(fixed);
  return out;
}

int64_t rounded(double value) {
  return std::isnan(value) ? 0 : static_cast<int64_t>(std::round(std::clamp(value, -1e6, 1e6)));
}

int32_t doubling_high_multiply(int32_t a, int32_t b) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  if (a == kMin && b == kMin) return std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>((int64_t{a} * b + (int64_t{1} << 30)) >> 31);
}

int32_t rounding_divide(int32_t value, int exponent) {
  if (exponent == 0) return value;
  const int64_t half = int64_t{1} << (exponent - 1);
  return static_cast<int32_t>((int64_t{value} + half - (value < 0 ? 1 : 0)) >> exponent);
}

int32_t multiply(int32_t value, const Multiplier& by) {
  const int left = std::max(by.exponent, 0), right = std::max(-by.exponent, 0);
  const auto shifted = static_cast<int32_t>(static_cast<uint32_t>(value) << left);
  return rounding_divide(doubling_high_multiply(shifted, by.multiplier), right);
}

int64_t scaled_once(int32_t value, int left, const Multiplier& by) {
  const int shift = 31 - by.exponent - left;
  return (int64_t{value} * by.multiplier + (int64_t{1} << (shift - 1))) >> shift;
}

namespace {

int32_t shift_left_saturating(int32_t value, int amount) {
  return static_cast<int32_t>(std::clamp<int64_t>(int64_t{value} * (int64_t{1} << amount),
                                                  std::numeric_limits<int32_t>::min(),
                                                  std::numeric_limits<int32_t>::max()));
}

// exp(x) in Q0.31 for x in [-1/4, 0) in Q0.31: a Taylor polynomial around -1/8.
int32_t exp_near_zero(int32_t x) {
  constexpr int32_t kExpOfMinusEighth = 1895147668, kThird = 715827883;
  const int32_t t = x + (1 << 28);
  const int32_t t2 = doubling_high_multiply(t, t);
  const int32_t t3 = doubling_high_multiply(t2, t);
  const int32_t t4 = doubling_high_multiply(t2, t2);
  const int32_t terms = rounding_divide(doubling_high_multiply(rounding_divide(t4, 2) + t3, kThird) + t2, 1);
  return kExpOfMinusEighth + doubling_high_multiply(kExpOfMinusEighth, t + terms);
}

// exp(-2^log2) in Q0.31.
struct Factor {
  int log2;
  int32_t exp;
};
constexpr auto kFactors = std::to_array<Factor>(
    {{-2, 1672461947}, {-1, 1302514674}, {0, 790015084}, {1, 290630308}, {2, 39332535}, {3, 720401}, {4, 242}});

}  // namespace

int32_t exp_of_negative(int32_t x) {
  constexpr int kFractionBits = 26, kIntegerBits = 5;
  if (x == 0) return std::numeric_limits<int32_t>::max();
  constexpr int32_t kQuarter = 1 << (kFractionBits - 2);
  const int32_t in_quarter = (x & (kQuarter - 1)) - kQuarter;
  int32_t result = exp_near_zero(shift_left_saturating(in_quarter, kIntegerBits));
  const int32_t rest = in_quarter - x;
  for (const Factor& factor : kFactors) {
    if ((rest >> (kFractionBits + factor.log2) & 1) != 0) result = doubling_high_multiply(result, factor.exp);
  }
  return result;
}

Multiplier inverse_square_root(int32_t value) {
  if (value <= 1) return {.multiplier = std::numeric_limits<int32_t>::max(), .exponent = 0};
  int right = 11;
  for (; value >= 1 << 29; value /= 4) ++right;
  const int pairs = (std::countl_zero(static_cast<uint32_t>(value)) - 1) / 2 - 1;
  right -= pairs;
  value <<= 2 * pairs;
  // Q3.28 of a number in [1/4, 1), and half of it.
  const int32_t half = rounding_divide(value >> 1, 1);
  constexpr int32_t kOne = 1 << 28, kHalfThree = (1 << 28) + (1 << 27), kHalfSqrt2 = 1518500250;
  int32_t x = kOne;
  for (int step = 0; step < 5; ++step) {
    const int32_t cube = shift_left_saturating(doubling_high_multiply(doubling_high_multiply(x, x), x), 6);
    x = shift_left_saturating(doubling_high_multiply(kHalfThree, x) - doubling_high_multiply(half, cube), 3);
  }
  x = doubling_high_multiply(x, kHalfSqrt2);
  if (right < 0) x <<= -std::exchange(right, 0);
  return {.multiplier = x, .exponent = -right};
}

Limits limits_of(Activation activation, float scale, int64_t zero_point, Limits type) {
  const auto integer = [&](float real) { return zero_point + rounded(real / scale); };
  switch (activation) {
    case Activation::kRelu:
      return {std::max(type.min, integer(0)), type.max};
    case Activation::kReluN1To1:
      return {std::max(type.min, integer(-1)), std::min(type.max, integer(1))};
    case Activation::kRelu6:
      return {std::max(type.min, integer(0)), std::min(type.max, integer(6))};
    case Activation::kNone:
    case Activation::kTanh:
    case Activation::kSignBit:
      return type;
  }
  return type;
}

}  // namespace carina::tflite
