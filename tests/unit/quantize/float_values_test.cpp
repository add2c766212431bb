#include "quantize/float_values_internal.h"

#include <gtest/gtest.h>

#include "graphs.h"

namespace carina::quantize {
namespace {

Quantization per_row(std::vector<double> scales) {
  return {
      .dtype = DType::kInt8, .scales = std::move(scales), .zero_points = {0, 0}, .axis = 0, .qmin = -127, .qmax = 127};
}

TEST(FloatValues, only_weights_are_rounded) {
  GraphBuilder b;
  const ir::ValueId x = b.input("x", {1, 3});
  const ir::ValueId weight = b.constant<float>("w", {2, 3}, {0.4F, 0.6F, -1.6F, 100, 0.24F, 0.26F});
  const ir::ValueId bias = b.constant<float>("b", {2}, {0.3F, 0.7F});
  const ir::ValueId y = b.node(AtenOp::linear_default, "y", {x, weight, bias}, {1, 2});
  b.graph.outputs = {y};
  b.graph[x].quantization = b.graph[y].quantization =
      Quantization{.dtype = DType::kInt8, .scales = {1}, .zero_points = {0}, .qmin = -128, .qmax = 127};
  b.graph[weight].quantization = per_row({1, 0.5});
  const ir::Graph floats = with_float_values(b.graph);
  const auto rounded = floats[weight].constant->values<float>();
  EXPECT_EQ(std::vector<float>(rounded.begin(), rounded.end()), (std::vector<float>{0, 1, -2, 63.5F, 0, 0.5F}));
  EXPECT_EQ(floats[bias].constant->values<float>()[0], 0.3F);
  for (const ir::Value& value : floats.values) EXPECT_FALSE(value.quantization) << value.name;
}

TEST(FloatValues, weights_that_are_integers_become_floats) {
  GraphBuilder b;
  const ir::ValueId x = b.input("x", {1, 2});
  const ir::ValueId weight = b.constant<int8_t>("w", {2, 2}, {1, -2, 3, 4});
  b.graph.outputs = {b.node(AtenOp::linear_default, "y", {x, weight, ir::ValueId()}, {1, 2})};
  b.graph[weight].quantization = per_row({0.25, 2});
  const ir::Graph graph = with_float_values(b.graph);
  const auto floats = graph[weight].constant->values<float>();
  EXPECT_EQ(std::vector<float>(floats.begin(), floats.end()), (std::vector<float>{0.25F, -0.5F, 6, 8}));
}

}  // namespace
}  // namespace carina::quantize
