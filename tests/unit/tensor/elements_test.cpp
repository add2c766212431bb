#include "tensor/elements.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace carina {
namespace {

template <typename T>
Tensor tensor_of(DType dtype, std::vector<T> values) {
  return Tensor::of<T>(dtype, {static_cast<int64_t>(values.size())}, values);
}

TEST(Elements, negative_elements_keep_sign) {
  EXPECT_EQ(integers_of(tensor_of<uint8_t>(DType::kUInt8, {0, 200, 255})), (std::vector<int64_t>{0, 200, 255}));
  EXPECT_EQ(integers_of(tensor_of<uint8_t>(DType::kBool, {0, 1})), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(integers_of(tensor_of<int8_t>(DType::kInt8, {-128, 127})), (std::vector<int64_t>{-128, 127}));
  EXPECT_EQ(integers_of(tensor_of<int8_t>(DType::kInt4, {-7, 7})), (std::vector<int64_t>{-7, 7}));
  EXPECT_EQ(integers_of(tensor_of<uint16_t>(DType::kUInt16, {65535})), (std::vector<int64_t>{65535}));
  EXPECT_EQ(integers_of(tensor_of<int16_t>(DType::kInt16, {-32768})), (std::vector<int64_t>{-32768}));
  EXPECT_EQ(integers_of(tensor_of<uint32_t>(DType::kUInt32, {0xFFFF'FFFF})), (std::vector<int64_t>{0xFFFF'FFFF}));
  constexpr int64_t kMinInt64 = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(integers_of(tensor_of<int64_t>(DType::kInt64, {kMinInt64, 3})), (std::vector<int64_t>{kMinInt64, 3}));
  EXPECT_EQ(integers_of(tensor_of<int64_t>(DType::kShape, {2, 3})), (std::vector<int64_t>{2, 3}));
}

TEST(Elements, floats_are_numbers_but_not_integers) {
  const Tensor floats = tensor_of<float>(DType::kFp32, {0.5F, -2});
  EXPECT_FALSE(integers_if_any(floats).has_value());
  EXPECT_THROW(integers_of(floats), InternalError);
  EXPECT_EQ(numbers_of(floats), (std::vector<double>{0.5, -2}));
  EXPECT_EQ(numbers_of(tensor_of<double>(DType::kFp64, {1e300})), (std::vector<double>{1e300}));
  EXPECT_EQ(numbers_of(tensor_of<uint8_t>(DType::kUInt8, {254})), (std::vector<double>{254}));
  EXPECT_FALSE(numbers_of(tensor_of<uint8_t>(DType::kBool, {1})).has_value());
  EXPECT_FALSE(numbers_of(tensor_of<uint16_t>(DType::kFp16, {0x3C00})).has_value());
}

TEST(Elements, per_channel_integers_are_dequantized_by_their_scale) {
  const Tensor integers = Tensor::of<int8_t>(DType::kInt8, {2, 2}, std::vector<int8_t>{-3, 4, 5, -6});
  const auto floats = [&](const Quantization& q) {
    const Tensor made = dequantized(integers, q);
    EXPECT_EQ(made.dtype, DType::kFp32);
    EXPECT_EQ(made.shape, integers.shape);
    const auto values = made.values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(floats({.scales = {0.5}, .zero_points = {1}}), (std::vector<float>{-2, 1.5, 2, -3.5}));
  EXPECT_EQ(floats({.scales = {2, 0.25}, .zero_points = {0, 2}, .axis = 0}), (std::vector<float>{-6, 8, 0.75, -2}));
  EXPECT_EQ(floats({.scales = {2, 0.25}, .zero_points = {0, 2}, .axis = 1}), (std::vector<float>{-6, 0.5, 10, -2}));
}

TEST(Elements, per_channel_scales_follow_axis) {
  const Shape shape{2, 3, 4};
  const ChannelOf middle(shape, 1);
  EXPECT_EQ(middle.count(), 3U);
  for (size_t element = 0; element < 24; ++element) EXPECT_EQ(middle(element), element / 4 % 3) << element;
  const ChannelOf last(shape, 2);
  EXPECT_EQ(last(5), 1U);
  Quantization q{.scales = {1, 2}, .zero_points = {0, 0}, .axis = 0};
  EXPECT_EQ(ChannelOf(shape, q)(11), 0U);
  EXPECT_EQ(ChannelOf(shape, q)(12), 1U);
  q = {.scales = {1}, .zero_points = {0}};
  EXPECT_EQ(ChannelOf(shape, q)(23), 0U);
  EXPECT_EQ(ChannelOf({0, 3}, size_t{0}).count(), 0U);
}

TEST(Elements, a_run_of_a_channel_ends_where_the_next_one_begins) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(ChannelOf(shape, 0).run(24), 12U);
  EXPECT_EQ(ChannelOf(shape, 1).run(24), 4U);
  EXPECT_EQ(ChannelOf(shape, 2).run(24), 1U);
  EXPECT_EQ(ChannelOf().run(24), 24U);
  EXPECT_EQ(ChannelOf().run(0), 1U);
  EXPECT_EQ(ChannelOf({2, 0}, size_t{0}).run(0), 1U);
  EXPECT_EQ(ChannelOf().count(), 1U);
  EXPECT_EQ(ChannelOf()(23), 0U);
}

}  // namespace
}  // namespace carina
