#include "tensor/float_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace carina {
namespace {

TEST(FloatFormats, all_patterns_round_trip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<uint16_t>(bits);
    if (!std::isnan(fp16_to_fp32(pattern))) {
      EXPECT_EQ(fp32_to_fp16(fp16_to_fp32(pattern)), pattern);
    }
    if (!std::isnan(bf16_to_fp32(pattern))) {
      EXPECT_EQ(fp32_to_bf16(bf16_to_fp32(pattern)), pattern);
    }
  }
  for (uint32_t bits = 0; bits < 0x100; ++bits) {
    const auto pattern = static_cast<uint8_t>(bits);
    if (!std::isnan(fp8e4m3_to_fp32(pattern))) {
      EXPECT_EQ(fp32_to_fp8e4m3(fp8e4m3_to_fp32(pattern)), pattern);
    }
    if (!std::isnan(fp8e5m2_to_fp32(pattern))) {
      EXPECT_EQ(fp32_to_fp8e5m2(fp8e5m2_to_fp32(pattern)), pattern);
    }
  }
}

// The formats have no NaN and no infinity, so every pattern is a number.
TEST(FloatFormats, patterns_of_mxfp_round_trip) {
  for (uint8_t bits = 0; bits < 64; ++bits) {
    EXPECT_EQ(fp32_to_fp6e2m3(fp6e2m3_to_fp32(bits)), bits);
    EXPECT_EQ(fp32_to_fp6e3m2(fp6e3m2_to_fp32(bits)), bits);
  }
  for (uint8_t bits = 0; bits < 16; ++bits) EXPECT_EQ(fp32_to_fp4e2m1(fp4e2m1_to_fp32(bits)), bits);
  for (uint32_t bits = 0; bits < 0xFF; ++bits)
    EXPECT_EQ(fp32_to_fp8ue8m0(fp8ue8m0_to_fp32(static_cast<uint8_t>(bits))), bits);
}

// The values of fp4 are a table of the OCP specification.
TEST(FloatFormats, values_of_mxfp_are_those_of_ocp) {
  const float fp4[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  for (uint8_t bits = 0; bits < 8; ++bits) {
    EXPECT_EQ(fp4e2m1_to_fp32(bits), fp4[bits]);
    EXPECT_EQ(fp4e2m1_to_fp32(bits | 8), -fp4[bits]);
  }
  EXPECT_EQ(fp6e2m3_to_fp32(0x1F), 7.5F);
  EXPECT_EQ(fp6e2m3_to_fp32(0x01), 0.125F);
  EXPECT_EQ(fp6e3m2_to_fp32(0x1F), 28.0F);
  EXPECT_EQ(fp6e3m2_to_fp32(0x01), 0.0625F);
  EXPECT_EQ(fp32_to_fp4e2m1(1000.0F), 7);  // the largest value
  EXPECT_EQ(fp32_to_fp4e2m1(0.25F), 0);    // a tie, to even
  EXPECT_EQ(fp32_to_fp4e2m1(-2.5F), 0xC);  // a tie, to even
  EXPECT_EQ(fp8ue8m0_to_fp32(127), 1.0F);
  EXPECT_EQ(fp8ue8m0_to_fp32(0), 0x1p-127F);
  EXPECT_EQ(fp32_to_fp8ue8m0(1.5F), 128);  // the next power of two
  EXPECT_TRUE(std::isnan(fp8ue8m0_to_fp32(0xFF)));
  EXPECT_EQ(fp32_to_fp8ue8m0(std::numeric_limits<float>::quiet_NaN()), 0xFF);
}

TEST(FloatFormats, known_values_convert_exactly) {
  EXPECT_EQ(fp32_to_fp16(1.0F), 0x3C00);
  EXPECT_EQ(fp32_to_fp16(65504.0F), 0x7BFF);
  EXPECT_EQ(fp32_to_fp16(65520.0F), 0x7C00);     // ties to even: infinity
  EXPECT_EQ(fp32_to_fp16(0x1p-24F), 0x0001);     // the smallest subnormal
  EXPECT_EQ(fp32_to_fp16(0x1p-25F), 0x0000);     // a tie, to even
  EXPECT_EQ(fp32_to_bf16(1.00390625F), 0x3F80);  // a tie, to even
  EXPECT_EQ(fp8e4m3_to_fp32(0x7E), 448.0F);
  EXPECT_TRUE(std::isnan(fp8e4m3_to_fp32(0x7F)));
  EXPECT_EQ(fp32_to_fp8e4m3(1000.0F), 0x7F);
  EXPECT_EQ(fp8e5m2_to_fp32(0x7B), 57344.0F);
  EXPECT_EQ(fp32_to_fp8e5m2(std::numeric_limits<float>::infinity()), 0x7C);
  EXPECT_TRUE(std::signbit(fp16_to_fp32(fp32_to_fp16(-0.0F))));
}

}  // namespace
}  // namespace carina
