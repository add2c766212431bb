#include "simulate/kernels/scaling_internal.h"

#include <gtest/gtest.h>

#include <random>

#include "tensor/fixed_point.h"

namespace carina::simulate {
namespace {

// The exact quotient by long division on magnitudes, rounded by comparing the remainder. The simulator rounds by adding
// a term instead.
int64_t oracle(int64_t value, const Scaling& s) {
  const Wide product = Wide{value} * s.multiplier;
  const Wide one = Wide{1} << s.shift;
  Wide floor = product / one;
  if (floor * one > product) --floor;
  const Wide rest = product - floor * one;  // 0 <= rest < one
  const bool exact = rest == 0;
  switch (s.mode) {
    case RoundMode::kNatural:
      return static_cast<int64_t>(2 * rest >= one ? floor + 1 : floor);
    case RoundMode::kSymmetric:
      return static_cast<int64_t>(2 * rest > one || (2 * rest == one && product >= 0) ? floor + 1 : floor);
    case RoundMode::kTruncateToZero:
      return static_cast<int64_t>(product < 0 && !exact ? floor + 1 : floor);
    case RoundMode::kTruncateToLower:
      return static_cast<int64_t>(floor);
    case RoundMode::kDoubleSymmetric:
    case RoundMode::kDoubleAsymmetric:
      break;
  }
  return 0;
}

TEST(Scaling, single_rounding_equals_long_division) {
  for (const RoundMode mode :
       {RoundMode::kNatural, RoundMode::kSymmetric, RoundMode::kTruncateToZero, RoundMode::kTruncateToLower}) {
    for (int shift = 1; shift <= 12; ++shift) {
      for (const uint32_t multiplier : {1u, 2u, 3u, 1000u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
        const Scaling s{.multiplier = multiplier, .shift = static_cast<uint8_t>(shift), .mode = mode};
        for (int64_t value = -300; value <= 300; ++value)
          ASSERT_EQ(apply(value, s), oracle(value, s)) << value << " * " << multiplier << " >> " << shift;
      }
    }
  }
}

TEST(Scaling, double_rounding_equals_tosa) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const auto value = static_cast<int32_t>(random());
    const auto multiplier = static_cast<int32_t>(random() & 0x3FFFFFFF) | 0x40000000;
    const int shift = 2 + static_cast<int>(random() % 61);
    Scaling s{.multiplier = static_cast<uint32_t>(multiplier),
              .shift = static_cast<uint8_t>(shift),
              .mode = RoundMode::kDoubleSymmetric};
    ASSERT_EQ(apply(value, s), apply_scale_32(value, multiplier, shift, Rounding::kDouble))
        << value << " " << multiplier << " " << shift;
    s.mode = RoundMode::kNatural;
    ASSERT_EQ(apply(value, s), apply_scale_32(value, multiplier, shift, Rounding::kSingle));
  }
}

TEST(Scaling, narrow_arithmetic_equals_wide) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200000; ++i) {
    const auto value = static_cast<int32_t>(random()) >> (random() % 20);
    const Scaling s{.multiplier = static_cast<uint32_t>(random() & 0x3FFFFFFF),
                    .shift = static_cast<uint8_t>(random() % 62),
                    .mode = static_cast<RoundMode>(random() % 6),
                    .double_round = static_cast<uint8_t>(random() % 25)};
    ASSERT_EQ(apply_narrow(value, s), apply(value, s));
  }
}

TEST(Scaling, quotients_round_half_away_from_zero) {
  EXPECT_EQ(divide_half_away(5, 2), 3);
  EXPECT_EQ(divide_half_away(-5, 2), -3);
  EXPECT_EQ(divide_half_away(4, 3), 1);
  EXPECT_EQ(divide_half_away(5, 3), 2);
  EXPECT_EQ(divide_half_away(-4, 9), 0);
}

}  // namespace
}  // namespace carina::simulate
