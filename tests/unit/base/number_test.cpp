#include "base/text/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace carina {
namespace {

TEST(Number, whole_text_is_parsed) {
  EXPECT_EQ(number_in<int64_t>("-12"), -12);
  EXPECT_EQ(number_in<uint64_t>("7fc00000", 16), 0x7fc00000U);
  EXPECT_EQ(number_in<double>("-1.5e-3"), -1.5e-3);
  EXPECT_EQ(number_in<float>("0.1"), 0.1F);
  EXPECT_EQ(number_in<double>("5e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(number_in<double>("inf"), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(number_in<double>("nan").value_or(0)));
  EXPECT_EQ(number_in<double>("0e9"), 0.0);
}

TEST(Number, other_text_is_an_error) {
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x10", "one", "-", "1,5", "1.5.1"}) {
    EXPECT_FALSE(number_in<int64_t>(text)) << text;
    EXPECT_FALSE(number_in<double>(text)) << text;
    EXPECT_FALSE(number_in<float>(text)) << text;
  }
}

TEST(Number, out_of_range_is_an_error) {
  EXPECT_FALSE(number_in<int8_t>("128"));
  EXPECT_FALSE(number_in<size_t>("-1"));
  EXPECT_FALSE(number_in<float>("1e39"));
  EXPECT_FALSE(number_in<double>("1e999"));
  EXPECT_FALSE(number_in<double>("1e-999"));
}

}  // namespace
}  // namespace carina
