#include "frontend/tflite/kernels/fixed_point_16_internal.h"

#include <algorithm>
#include <array>
#include <limits>

#include "frontend/tflite/kernels/fixed_point_internal.h"

// gemmlowp's fixed-point functions, in 16 bits: a Taylor polynomial of exp around -1/8 times powers of e^(1/4), and
// three Newton steps for a division by 1 + e. Sums wrap and products are rounded half up, unless said otherwise.
namespace carina::tflite {

namespace {

constexpr int32_t kMax = std::numeric_limits<int16_t>::max(), kMin = std::numeric_limits<int16_t>::min();

int16_t wrapped(int32_t value) {
  return static_cast<int16_t>(value);
}

int16_t saturated(int32_t value) {
  return static_cast<int16_t>(std::clamp(value, kMin, kMax));
}

// A constant given in 32 bits.
constexpr int16_t constant(int32_t value) {
  return static_cast<int16_t>((value + (1 << 15)) >> 16);
}

// a * b / 2^15.
int16_t product_16(int16_t a, int16_t b) {
  return saturated((int32_t{a} * b + (1 << 14)) >> 15);
}

int16_t shifted_left(int16_t value, int amount) {
  return saturated(value * (1 << amount));
}

// exp(x) in Q0.15 of x in [-1/4, 0) in Q0.15.
int16_t exp_near_zero_16(int16_t x) {
  constexpr int16_t kExpOfMinusEighth = constant(1895147668), kThird = constant(715827883);
  const int16_t t = wrapped(x + (1 << 12));
  const int16_t t2 = product_16(t, t), t3 = product_16(t2, t), t4 = product_16(t2, t2);
  const int16_t quarter = wrapped(rounding_divide(t4, 2));
  const int16_t terms = wrapped(rounding_divide(wrapped(product_16(wrapped(quarter + t3), kThird) + t2), 1));
  return saturated(kExpOfMinusEighth + product_16(kExpOfMinusEighth, wrapped(t + terms)));
}

struct Factor16 {
  int log2;
  int16_t exp;  // exp(-2^log2) in Q0.15
};
constexpr auto kFactors16 = std::to_array<Factor16>({{-2, constant(1672461947)},
                                                     {-1, constant(1302514674)},
                                                     {0, constant(790015084)},
                                                     {1, constant(290630308)},
                                                     {2, constant(39332535)},
                                                     {3, constant(720401)},
                                                     {4, constant(242)}});

// exp(x) in Q0.15 of x <= 0 with this number of integer bits.
int16_t exp_of_negative_16(int16_t x, int integer_bits) {
  const int fraction_bits = 15 - integer_bits;
  if (x == 0) return static_cast<int16_t>(kMax);
  const int quarter = 1 << (fraction_bits - 2);
  const int16_t in_quarter = wrapped((x & (quarter - 1)) - quarter);
  int16_t result = exp_near_zero_16(shifted_left(in_quarter, integer_bits));
  const auto rest = static_cast<uint16_t>(in_quarter - x);
  for (const Factor16& factor : kFactors16) {
    if (factor.log2 < integer_bits && (rest >> (fraction_bits + factor.log2) & 1) != 0)
      result = product_16(result, factor.exp);
  }
  constexpr int kClampedBits = 5;
  if (integer_bits > kClampedBits && x < -(1 << (20 - integer_bits))) return 0;
  return result;
}

// 1 / ((1 + x) / 2) in Q2.13 of x in [0, 1] in Q0.15.
int16_t reciprocal_of_half(int16_t x) {
  constexpr int16_t k48Over17 = constant(1515870810), kMinus32Over17 = constant(-1010580540), kOne = 1 << 13;
  const auto half = wrapped((int32_t{x} + kMax + 1) / 2);
  int16_t r = wrapped(k48Over17 + product_16(half, kMinus32Over17));
  for (int step = 0; step < 3; ++step) {
    const int16_t error = wrapped(kOne - product_16(half, r));
    r = wrapped(r + shifted_left(product_16(r, error), 2));
  }
  return r;
}

}  // namespace

int16_t exp_of_rest_16(int rest) {
  return exp_near_zero_16(wrapped((rest - 1024) * 8));
}

int16_t exp_of_quarters_16(int log2) {
  return kFactors16[static_cast<size_t>(log2)].exp;
}

int16_t logistic_16(int16_t x) {
  if (x == 0) return 1 << 14;
  const int16_t magnitude = x > 0 ? x : wrapped(-x);
  const int16_t of_positive = shifted_left(reciprocal_of_half(exp_of_negative_16(wrapped(-magnitude), 3)), 1);
  return x > 0 ? of_positive : wrapped(kMax - of_positive);
}

int16_t tanh_16(int16_t x, int integer_bits) {
  if (x == 0) return 0;
  const int16_t negative = x < 0 ? x : wrapped(-x);
  // exp(2 x): the same bits with one more integer bit.
  const int16_t r = reciprocal_of_half(exp_of_negative_16(negative, integer_bits + 1));
  const int16_t of_positive = shifted_left(wrapped(r - (1 << 13)), 2);
  return x < 0 ? wrapped(-of_positive) : of_positive;
}

}  // namespace carina::tflite
