#include "tensor/float_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace carina {
namespace {

TEST(FloatFormats, all_patterns_round_trip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<uint16_t>(bits);
    if (!std::isnan(fp32_of_fp16(pattern))) {
      EXPECT_EQ(fp16_of_fp32(fp32_of_fp16(pattern)), pattern);
    }
    if (!std::isnan(fp32_of_bf16(pattern))) {
      EXPECT_EQ(bf16_of_fp32(fp32_of_bf16(pattern)), pattern);
    }
  }
  for (uint32_t bits = 0; bits < 0x100; ++bits) {
    const auto pattern = static_cast<uint8_t>(bits);
    if (!std::isnan(fp32_of_fp8e4m3(pattern))) {
      EXPECT_EQ(fp8e4m3_of_fp32(fp32_of_fp8e4m3(pattern)), pattern);
    }
    if (!std::isnan(fp32_of_fp8e5m2(pattern))) {
      EXPECT_EQ(fp8e5m2_of_fp32(fp32_of_fp8e5m2(pattern)), pattern);
    }
  }
}

TEST(FloatFormats, known_values_convert_exactly) {
  EXPECT_EQ(fp16_of_fp32(1.0F), 0x3C00);
  EXPECT_EQ(fp16_of_fp32(65504.0F), 0x7BFF);
  EXPECT_EQ(fp16_of_fp32(65520.0F), 0x7C00);     // ties to even: infinity
  EXPECT_EQ(fp16_of_fp32(0x1p-24F), 0x0001);     // the smallest subnormal
  EXPECT_EQ(fp16_of_fp32(0x1p-25F), 0x0000);     // a tie, to even
  EXPECT_EQ(bf16_of_fp32(1.00390625F), 0x3F80);  // a tie, to even
  EXPECT_EQ(fp32_of_fp8e4m3(0x7E), 448.0F);
  EXPECT_TRUE(std::isnan(fp32_of_fp8e4m3(0x7F)));
  EXPECT_EQ(fp8e4m3_of_fp32(1000.0F), 0x7F);
  EXPECT_EQ(fp32_of_fp8e5m2(0x7B), 57344.0F);
  EXPECT_EQ(fp8e5m2_of_fp32(std::numeric_limits<float>::infinity()), 0x7C);
  EXPECT_TRUE(std::signbit(fp32_of_fp16(fp16_of_fp32(-0.0F))));
}

}  // namespace
}  // namespace carina
