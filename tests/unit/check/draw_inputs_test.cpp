#include "check/draw_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "../plan/build_graph.h"

namespace carina::check {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;

ir::Graph graph_of(DType dtype, const Shape& shape) {
  plan::GraphBuilder b;
  b.graph.outputs = {b.input("x", dtype, shape)};
  return std::move(b.graph);
}

template <typename T>
std::vector<T> drawn(const ir::Graph& graph, int sample, Spread spread) {
  const auto inputs = draw_inputs(graph, sample, spread);
  const std::span<const T> values = inputs->front().values<T>();
  return {values.begin(), values.end()};
}

TEST(DrawInputs, values_have_extremes_and_equal_neighbors) {
  const ir::Graph graph = graph_of(DType::kInt8, {1, 8, 8, 4});
  for (int sample = 0; sample < kSamples; ++sample) {
    const std::vector<int8_t> values = drawn<int8_t>(graph, sample, Spread::kWhole);
    EXPECT_THAT(values, Contains(-128));
    EXPECT_THAT(values, Contains(127));
    EXPECT_NE(std::ranges::adjacent_find(values), values.end());
  }
}

TEST(DrawInputs, samples_differ_and_repeat) {
  const ir::Graph graph = graph_of(DType::kInt16, {1, 50});
  EXPECT_EQ(drawn<int16_t>(graph, 0, Spread::kWhole), drawn<int16_t>(graph, 0, Spread::kWhole));
  EXPECT_NE(drawn<int16_t>(graph, 0, Spread::kWhole), drawn<int16_t>(graph, 1, Spread::kWhole));
}

TEST(DrawInputs, each_spread_is_narrower) {
  const ir::Graph graph = graph_of(DType::kInt32, {1, 1000});
  EXPECT_GT(std::ranges::max(drawn<int32_t>(graph, 0, Spread::kWhole)), 1 << 30);
  EXPECT_EQ(std::ranges::max(drawn<int32_t>(graph, 0, Spread::kHalfOfBits)), 32767);
  EXPECT_EQ(std::ranges::max(drawn<int32_t>(graph, 0, Spread::kSmall)), 3);
  EXPECT_THAT(drawn<int32_t>(graph, 0, Spread::kZero), Each(0));
}

TEST(DrawInputs, booleans_are_zero_and_one) {
  const std::vector<int8_t> values = drawn<int8_t>(graph_of(DType::kBool, {100}), 0, Spread::kWhole);
  EXPECT_EQ(std::ranges::min(values), 0);
  EXPECT_EQ(std::ranges::max(values), 1);
}

TEST(DrawInputs, indices_select_rows_of_the_table) {
  plan::GraphBuilder b;
  const auto table = b.constant<int8_t>(DType::kInt8, {1, 3, 2}, std::vector<int8_t>(6, 1));
  const auto index = b.input("index", DType::kInt32, {1, 5});
  b.graph.outputs = {b.op(TosaOp::GATHER, {table, index}, DType::kInt8, {1, 5, 2})};
  EXPECT_THAT(drawn<int32_t>(b.graph, 0, Spread::kWhole), ElementsAre(0, 1, 2, 0, 1));
  EXPECT_THAT(drawn<int32_t>(b.graph, 1, Spread::kWhole), ElementsAre(2, 1, 0, 2, 1));
}

}  // namespace
}  // namespace carina::check
