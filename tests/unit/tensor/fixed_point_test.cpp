#include "tensor/fixed_point.h"

#include <gtest/gtest.h>

#include <random>

namespace carina {
namespace {

__extension__ typedef __int128 Wide;

// floor(numerator / 2^shift) in wide integers, by division. This oracle shares no code with the functions under test.
Wide floor_div_pow2(Wide numerator, int shift) {
  const Wide divisor = Wide{1} << shift;
  Wide quotient = numerator / divisor;
  if (numerator % divisor != 0 && numerator < 0) --quotient;
  return quotient;
}

Wide oracle(int64_t value, int32_t multiplier, int shift, Rounding rounding) {
  Wide round = Wide{1} << (shift - 1);
  if (rounding == Rounding::kDouble && shift > 31) round += value < 0 ? -(Wide{1} << 30) : Wide{1} << 30;
  return floor_div_pow2(Wide{value} * multiplier + round, shift);
}

TEST(ApplyScale32, all_8_bit_values_and_edges_equal_wide_arithmetic) {
  for (const Rounding rounding : {Rounding::kSingle, Rounding::kDouble}) {
    for (const int32_t multiplier : {1 << 30, (1 << 30) + 1, 1'518'500'250, INT32_MAX - 1, INT32_MAX}) {
      for (int shift = 2; shift <= 62; ++shift) {
        for (int value = -256; value <= 256; ++value) {
          ASSERT_EQ(apply_scale_32(value, multiplier, shift, rounding), oracle(value, multiplier, shift, rounding));
        }
        for (const int64_t edge :
             {int64_t{INT32_MIN}, int64_t{INT32_MIN} + 1, int64_t{INT32_MAX} - 1, int64_t{INT32_MAX}}) {
          if (shift == 62 && rounding == Rounding::kDouble) continue;  // product + roundings may overflow int64
          ASSERT_EQ(apply_scale_32(edge, multiplier, shift, rounding), oracle(edge, multiplier, shift, rounding));
        }
      }
    }
  }
}

TEST(ScaleFactorOf, nearest_factor_is_chosen) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(-29, 28);
  for (int i = 0; i < 20'000; ++i) {
    const double scale = std::exp2(exponent(random));
    const ScaleFactor factor = scale_factor_of(scale);
    EXPECT_GE(factor.multiplier, 1U << 30);
    EXPECT_GE(factor.shift, 2);
    EXPECT_LE(factor.shift, 62);
    EXPECT_NEAR(std::ldexp(factor.multiplier, -factor.shift) / scale, 1.0, 0x1p-31);
  }
  EXPECT_EQ(scale_factor_of(1.0), (ScaleFactor{.multiplier = 1 << 30, .shift = 30}));
  EXPECT_EQ(scale_factor_of(0x1p-70).shift, 62);
}

TEST(ReciprocalScale, every_window_sum_divides_exactly) {
  for (uint32_t n = 1; n <= 4096; ++n) {
    const ScaleFactor factor = reciprocal_scale(n);
    for (const int64_t sum : {int64_t{-128} * n, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{127} * n}) {
      EXPECT_NEAR(static_cast<double>(
                      apply_scale_32(sum, static_cast<int32_t>(factor.multiplier), factor.shift, Rounding::kSingle)),
                  static_cast<double>(sum) / n, 0.5 + 1e-6);
    }
  }
}

}  // namespace
}  // namespace carina
