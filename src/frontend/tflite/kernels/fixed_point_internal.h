// The fixed-point arithmetic of LiteRT's reference kernels: multipliers, and functions that tables are made of.
#pragma once

#include <cstdint>

#include "frontend/tflite/model.h"

namespace carina::tflite {

// real = multiplier * 2^(exponent - 31), multiplier in [2^30, 2^31) or 0.
struct Multiplier {
  int32_t multiplier = 0;
  int exponent = 0;
};

// Returns the multiplier nearest to a factor that is not negative. Below 2^-32 it is 0. Of a factor that is not finite
// the exponent is kTooLarge.
//   Example: 0.3 gives {1288490189, -1}.
constexpr int kTooLarge = 1000;
Multiplier multiplier_of(double real);

// Rounds half away from zero. The result is at most 10^6 in magnitude, and 0 of NaN: scales of a file may be any
// floats.
int64_t rounded(double value);

// a * b / 2^31, rounded half up.
int32_t doubling_high_multiply(int32_t a, int32_t b);
// value / 2^exponent, rounded half away from zero.
int32_t rounding_divide(int32_t value, int exponent);
// value * multiplier, rounded twice: at bit 31 and after the shift to the right. A shift to the left comes first.
int32_t multiply(int32_t value, const Multiplier& by);
// value * 2^left * multiplier, rounded half up, once. `multiplier.exponent + left` is below 31.
int64_t scaled_once(int32_t value, int left, const Multiplier& by);

// exp(x) in Q0.31 for x <= 0 in Q5.26. Source: gemmlowp's exp_on_negative_values, a polynomial over [-1/4, 0) times
// powers of e^(1/4).
int32_t exp_of_negative(int32_t x);

// 1 / sqrt(value) for value >= 1, by five Newton steps in Q3.28.
Multiplier inverse_square_root(int32_t value);

// The limits of a fused activation in an output's integers, within [min, max] of its type.
struct Limits {
  int64_t min;
  int64_t max;
};
Limits limits_of(Activation activation, float scale, int64_t zero_point, Limits type);

}  // namespace carina::tflite
