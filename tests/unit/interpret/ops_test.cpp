#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "build_graph.h"

namespace carina::interpret {

namespace {

using testing::boolean, testing::f32, testing::i16, testing::i32, testing::i8, testing::run_one, testing::shape_of,
    testing::values_of, testing::zero_point;
using ::testing::ElementsAre, ::testing::HasSubstr;
using enum DType;

std::string error_of(const Result<std::vector<Tensor>>& result) {
  return result ? "no error" : to_string(result.error());
}

TEST(Add, broadcast_operands_overflow_is_reported) {
  const auto sum = run_one(TosaOp::ADD, {i32({2, 1}, {1, 10}), i32({1, 3}, {1, 2, 3})}, {}, {{kInt32, {2, 3}}});
  ASSERT_TRUE(sum) << error_of(sum);
  EXPECT_THAT(values_of<int32_t>(sum->front()), ElementsAre(2, 3, 4, 11, 12, 13));
  const auto overflow = run_one(TosaOp::ADD, {i32({3}, {1, 2147483647, 0}), i32({3}, {1, 1, 1})}, {}, {{kInt32, {3}}});
  EXPECT_THAT(error_of(overflow), HasSubstr("element [1]: the sum does not fit i32"));
}

TEST(Mul, no_shift_keeps_low_bits_and_shift_reports_overflow) {
  const std::vector<Tensor> operands{i32({2}, {65537, 3}), i32({2}, {65537, 5})};
  const auto low = run_one(TosaOp::MUL, operands, {i8({1}, {0})}, {{kInt32, {2}}});
  ASSERT_TRUE(low) << error_of(low);
  EXPECT_THAT(values_of<int32_t>(low->front()), ElementsAre(131073, 15));
  const auto shifted = run_one(TosaOp::MUL, operands, {i8({1}, {1})}, {{kInt32, {2}}});
  EXPECT_THAT(error_of(shifted), HasSubstr("element [0]: the shifted product does not fit i32"));
}

TEST(Negate, minimum_integer_is_reported) {
  const auto out = run_one(TosaOp::NEGATE, {i32({2}, {7, std::numeric_limits<int32_t>::min()})},
                           {zero_point(kInt32), zero_point(kInt32)}, {{kInt32, {2}}});
  EXPECT_THAT(error_of(out), HasSubstr("element [1]: the negative of -2^31 does not fit"));
}

TEST(Pow, negative_base_is_reported) {
  const auto out = run_one(TosaOp::POW, {f32({2}, {4, -4}), f32({2}, {0.5F, 2})}, {}, {{kFp32, {2}}});
  EXPECT_THAT(error_of(out), HasSubstr("element [1]: the base is below zero"));
}

TEST(ReduceProduct, subnormal_numbers_keep_precision) {
  const auto out = run_one(TosaOp::REDUCE_PRODUCT, {f32({4}, {1e-40F, 3e-3F, 1e20F, 1e20F})}, {}, {{kFp32, {1}}},
                           {{"axis", int64_t{0}}});
  ASSERT_TRUE(out) << error_of(out);
  const double exact = double{1e-40F} * double{3e-3F} * double{1e20F} * double{1e20F};
  EXPECT_EQ(values_of<float>(out->front())[0], static_cast<float>(exact));
}

TEST(Clamp, equal_zeros_take_sign_of_upper_bound) {
  const auto out = run_one(TosaOp::CLAMP, {f32({2}, {0.0F, -0.0F})}, {}, {{kFp32, {2}}},
                           {{"min_val", -1.0}, {"max_val", -0.0}, {"nan_mode", int64_t{1}}});
  ASSERT_TRUE(out) << error_of(out);
  for (const float value : values_of<float>(out->front())) EXPECT_TRUE(std::signbit(value));
}

TEST(Rescale, per_channel_rounds_half_up) {
  const ir::Attributes attributes{{"scale32", true},
                                  {"rounding_mode", int64_t{1}},
                                  {"per_channel", true},
                                  {"input_unsigned", false},
                                  {"output_unsigned", false}};
  const auto out = run_one(TosaOp::RESCALE, {i32({2, 2}, {3, 100, -3, 1000})},
                           {i32({2}, {1 << 30, 1 << 30}), i8({2}, {31, 30}), i32({1}, {0}), i8({1}, {-1})},
                           {{kInt8, {2, 2}}}, attributes);
  ASSERT_TRUE(out) << error_of(out);
  EXPECT_THAT(values_of<int8_t>(out->front()),
              ElementsAre(1, 99, -2, 127));  // 1.5 -> 2, 100, -1.5 -> -1, 1000; then minus 1
}

TEST(Rescale, shift_out_of_range_is_an_error) {
  const ir::Attributes attributes{{"scale32", true},
                                  {"rounding_mode", int64_t{1}},
                                  {"per_channel", false},
                                  {"input_unsigned", false},
                                  {"output_unsigned", false}};
  const auto out =
      run_one(TosaOp::RESCALE, {i32({1}, {5})}, {i32({1}, {1 << 30}), i8({1}, {3}), i32({1}, {0}), i8({1}, {0})},
              {{kInt8, {1}}}, attributes);
  EXPECT_THAT(error_of(out), HasSubstr("element [0]"));
}

TEST(Conv2d, padding_has_value_of_zero_point) {
  const ir::Attributes attributes{{"pad", std::vector<int64_t>{1, 0, 1, 0}},
                                  {"stride", std::vector<int64_t>{1, 1}},
                                  {"dilation", std::vector<int64_t>{1, 1}},
                                  {"local_bound", false},
                                  {"acc_type", kInt32}};
  const auto out = run_one(TosaOp::CONV2D, {i8({1, 2, 2, 1}, {1, 2, 3, 4})},
                           {i8({1, 2, 2, 1}, {1, 10, 100, 50}), i32({1}, {7}), i8({1}, {1}), i8({1}, {0})},
                           {{kInt32, {1, 2, 2, 1}}}, attributes);
  ASSERT_TRUE(out) << error_of(out);
  // input minus zero point: 0 1 / 2 3
  EXPECT_THAT(values_of<int32_t>(out->front()), ElementsAre(7 + 0, 7 + 50, 7 + 100, 7 + 1 * 10 + 2 * 100 + 3 * 50));
}

// Constant weights have a vector kernel that adds up to 256 products in 32 bits, two at a time. Their number is odd
// here, and all are as large as they can be.
TEST(Conv2d, sums_of_int16_with_constant_weights_are_exact) {
  constexpr int64_t kChannels = 71, kOut = 37;
  std::vector<int16_t> x(static_cast<size_t>(4 * 3 * kChannels));
  std::vector<int8_t> weights(static_cast<size_t>(kOut * 9 * kChannels));
  std::vector<int64_t> bias(kOut);
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % 7 == 0 ? int16_t{32767} : int16_t{-32768};
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = i % 5 == 0 ? int8_t{127} : int8_t{-128};
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = (int64_t{1} << 40) - static_cast<int64_t>(i);
  const ir::Attributes attributes{{"pad", std::vector<int64_t>{1, 1, 0, 1}},
                                  {"stride", std::vector<int64_t>{1, 1}},
                                  {"dilation", std::vector<int64_t>{1, 1}},
                                  {"local_bound", false},
                                  {"acc_type", kInt48}};
  const Tensor input = Tensor::of<int16_t>(kInt16, {1, 4, 3, kChannels}, x);
  const std::vector<Tensor> rest{Tensor::of<int8_t>(kInt8, {kOut, 3, 3, kChannels}, weights),
                                 Tensor::of<int64_t>(kInt48, {kOut}, bias), zero_point(kInt16), zero_point(kInt8)};
  std::vector<Tensor> all{input};
  all.insert(all.end(), rest.begin(), rest.end());
  const std::vector<std::pair<DType, Shape>> outputs{{kInt48, {1, 4, 2, kOut}}};
  const auto plain = run_one(TosaOp::CONV2D, all, {}, outputs, attributes);
  ASSERT_TRUE(plain) << error_of(plain);
  for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    SCOPED_TRACE(hwy::TargetName(targets & -targets));
    hwy::GetChosenTarget().Update(targets);
    const auto constant = run_one(TosaOp::CONV2D, {input}, rest, outputs, attributes);
    ASSERT_TRUE(constant) << error_of(constant);
    EXPECT_EQ(values_of<int64_t>(constant->front()), values_of<int64_t>(plain->front()));
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(DepthwiseConv2d, multiplier_above_1_multiplies_channels) {
  const ir::Attributes attributes{{"pad", std::vector<int64_t>{0, 0, 0, 0}},
                                  {"stride", std::vector<int64_t>{1, 1}},
                                  {"dilation", std::vector<int64_t>{1, 1}},
                                  {"local_bound", false},
                                  {"acc_type", kFp32}};
  const auto out =
      run_one(TosaOp::DEPTHWISE_CONV2D, {f32({1, 1, 2, 2}, {1, 2, 3, 4})},
              {f32({1, 1, 2, 2}, {1, 10, 100, 1000}), f32({4}, {0, 0, 0.5F, 0}), f32({1}, {0}), f32({1}, {0})},
              {{kFp32, {1, 1, 2, 4}}}, attributes);
  ASSERT_TRUE(out) << error_of(out);
  EXPECT_THAT(values_of<float>(out->front()), ElementsAre(1, 10, 200.5F, 2000, 3, 30, 400.5F, 4000));
}

TEST(Gather, index_out_of_range_is_an_error) {
  const auto out =
      run_one(TosaOp::GATHER, {i8({1, 3, 2}, {1, 2, 3, 4, 5, 6}), i32({1, 2}, {2, 0})}, {}, {{kInt8, {1, 2, 2}}});
  ASSERT_TRUE(out) << error_of(out);
  EXPECT_THAT(values_of<int8_t>(out->front()), ElementsAre(5, 6, 1, 2));
  const auto bad =
      run_one(TosaOp::GATHER, {i8({1, 3, 2}, {1, 2, 3, 4, 5, 6}), i32({1, 2}, {0, 3})}, {}, {{kInt8, {1, 2, 2}}});
  EXPECT_THAT(error_of(bad), HasSubstr("element [0,1]: index 3 is outside of [0, 3)"));
}

TEST(Scatter, row_written_twice_is_an_error) {
  const auto bad = run_one(TosaOp::SCATTER, {i8({1, 3, 1}, {1, 2, 3}), i32({1, 2}, {1, 1}), i8({1, 2, 1}, {8, 9})}, {},
                           {{kInt8, {1, 3, 1}}});
  EXPECT_THAT(error_of(bad), HasSubstr("element [0,1]: row 1 is written twice"));
}

TEST(Shift, shift_of_full_width_is_an_error) {
  const auto bad = run_one(TosaOp::LOGICAL_LEFT_SHIFT, {i8({2}, {1, 1}), i8({2}, {7, 8})}, {}, {{kInt8, {2}}});
  EXPECT_THAT(error_of(bad), HasSubstr("element [1]: a shift outside"));
}

TEST(Table, values_are_interpolated_and_steep_step_is_an_error) {
  std::vector<int16_t> table(513);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int16_t>(64 * static_cast<int>(i) - 16384);
  const Tensor lut = Tensor::of<int16_t>(kInt16, {513}, table);
  const auto out = run_one(TosaOp::TABLE, {i16({3}, {0, 1, -32768})}, {lut}, {{kInt32, {3}}});
  ASSERT_TRUE(out) << error_of(out);
  EXPECT_THAT(values_of<int32_t>(out->front()), ElementsAre(0, 64, -16384 * 128));
  table[257] = -32768;
  table[256] = 32767;
  const auto bad =
      run_one(TosaOp::TABLE, {i16({2}, {-1000, 5})}, {Tensor::of<int16_t>(kInt16, {513}, table)}, {{kInt32, {2}}});
  EXPECT_THAT(error_of(bad), HasSubstr("element [1]"));
}

TEST(Clamp, nan_propagates_or_becomes_minimum) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t mode : {1, 2}) {
    const auto out = run_one(TosaOp::CLAMP, {f32({3}, {nan, -5, 5})}, {}, {{kFp32, {3}}},
                             {{"min_val", -1.0}, {"max_val", 1.0}, {"nan_mode", mode}});
    ASSERT_TRUE(out) << error_of(out);
    const auto values = values_of<float>(out->front());
    EXPECT_EQ(std::isnan(values[0]), mode == 1);
    EXPECT_EQ(values[1], -1);
    EXPECT_EQ(values[2], 1);
  }
}

TEST(Layout, transpose_pad_reverse_tile_and_slice_match_reference) {
  const Tensor in = i16({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(
      values_of<int16_t>(
          run_one(TosaOp::TRANSPOSE, {in}, {}, {{kInt16, {3, 2}}}, {{"perms", std::vector<int64_t>{1, 0}}})->front()),
      ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(values_of<int16_t>(
                  run_one(TosaOp::PAD, {in}, {shape_of({1, 0, 0, 1}), i16({1}, {9})}, {{kInt16, {3, 4}}})->front()),
              ElementsAre(9, 9, 9, 9, 1, 2, 3, 9, 4, 5, 6, 9));
  EXPECT_THAT(
      values_of<int16_t>(run_one(TosaOp::REVERSE, {in}, {}, {{kInt16, {2, 3}}}, {{"axis", int64_t{1}}})->front()),
      ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(values_of<int16_t>(run_one(TosaOp::TILE, {in}, {shape_of({1, 2})}, {{kInt16, {2, 6}}})->front()),
              ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
  EXPECT_THAT(values_of<int16_t>(
                  run_one(TosaOp::SLICE, {in}, {shape_of({0, 1}), shape_of({2, 2})}, {{kInt16, {2, 2}}})->front()),
              ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(error_of(run_one(TosaOp::SLICE, {in}, {shape_of({0, 2}), shape_of({2, 2})}, {{kInt16, {2, 2}}})),
              HasSubstr("leaves axis 1"));
}

TEST(Reduce, axis_is_summed) {
  EXPECT_THAT(values_of<int32_t>(run_one(TosaOp::REDUCE_SUM, {i32({2, 3}, {1, 2, 3, 4, 5, 6})}, {}, {{kInt32, {1, 3}}},
                                         {{"axis", int64_t{0}}})
                                     ->front()),
              ElementsAre(5, 7, 9));
  EXPECT_THAT(values_of<int32_t>(run_one(TosaOp::ARGMAX, {f32({2, 3}, {1, 5, 5, 9, 5, 6})}, {}, {{kInt32, {2}}},
                                         {{"axis", int64_t{1}}, {"nan_mode", int64_t{1}}})
                                     ->front()),
              ElementsAre(1, 0));
}

TEST(AvgPool2d, padding_is_not_counted) {
  const ir::Attributes attributes{{"kernel", std::vector<int64_t>{2, 2}},
                                  {"stride", std::vector<int64_t>{1, 1}},
                                  {"pad", std::vector<int64_t>{1, 0, 1, 0}},
                                  {"acc_type", kInt32}};
  const auto out = run_one(TosaOp::AVG_POOL2D, {i8({1, 2, 2, 1}, {10, 20, 30, 41})},
                           {zero_point(kInt8), zero_point(kInt8)}, {{kInt8, {1, 2, 2, 1}}}, attributes);
  ASSERT_TRUE(out) << error_of(out);
  EXPECT_THAT(values_of<int8_t>(out->front()), ElementsAre(10, 15, 20, 25));
}

TEST(Types, illegal_type_combination_is_an_error) {
  const auto bad = run_one(TosaOp::ADD, {i8({1}, {1}), i8({1}, {1})}, {}, {{kInt8, {1}}});
  EXPECT_THAT(error_of(bad), HasSubstr("i32,i32 -> i32"));
  EXPECT_THAT(error_of(bad), HasSubstr("got i8,i8 -> i8"));
}

}  // namespace

}  // namespace carina::interpret
