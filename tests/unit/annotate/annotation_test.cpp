#include "quantize/annotate/annotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "../quantize/graphs.h"
#include "quantize/annotate/expansion.h"

namespace carina::quantize {
namespace {

using testing::ElementsAre;

const AnnotatedValue& value(const Annotations& found, const std::string& name) {
  return *std::ranges::find(found.values, name, &AnnotatedValue::name);
}

bool share(const Annotations& found, const std::string& a, const std::string& b) {
  return value(found, a).group == value(found, b).group;
}

std::vector<std::string> names_of(const Annotations& found) {
  std::vector<std::string> names;
  for (const AnnotatedNode& node : found.nodes) names.push_back(node.name);
  return names;
}

TEST(Annotation, weights_have_an_axis_and_no_activation_spec) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 2});
  const auto w = b.constant<float>("w", {2, 2}, {1, -127, 0.5F, 0.25F});
  b.graph.outputs = {b.linear("y", x, w, b.constant<float>("b", {2}, {1, 2}))};
  const Annotations found = annotate(b.graph, {});
  ASSERT_THAT(names_of(found), ElementsAre("y"));
  const std::vector<AnnotatedOperand>& operands = found.nodes.front().operands;
  ASSERT_EQ(operands.size(), 3);
  EXPECT_EQ(operands[0].role, OperandRole::kActivation);
  EXPECT_EQ(operands[1].role, OperandRole::kWeight);
  EXPECT_EQ(operands[1].axis, 0);
  EXPECT_EQ(operands[2].role, OperandRole::kBias);
  EXPECT_TRUE(value(found, "x").quantized);
  EXPECT_FALSE(value(found, "w").quantized);
}

TEST(Annotation, fused_activation_replaces_its_input) {
  GraphBuilder b;
  const auto sum = b.node(AtenOp::neg_default, "sum", {b.input("x", {4})}, {4});
  b.graph.outputs = {b.relu("y", sum)};
  const Annotations found = annotate(b.graph, {});
  EXPECT_FALSE(value(found, "sum").quantized);
  EXPECT_TRUE(value(found, "y").quantized);
}

TEST(Annotation, min_and_max_have_own_parameters) {
  GraphBuilder b;
  const auto x = b.input("x", {4});
  b.graph.outputs = {b.node(AtenOp::maximum_default, "most", {x, b.input("y", {4})}, {4})};
  const Annotations found = annotate(b.graph, {});
  EXPECT_FALSE(share(found, "x", "y"));
  EXPECT_FALSE(share(found, "x", "most"));
}

TEST(Annotation, prelu_has_parameters_of_its_operand) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 2});
  const auto product = b.node(AtenOp::mul_Tensor, "product", {x, b.constant<float>("a", {2}, {0.5F, 0.25F})}, {1, 2});
  b.graph.outputs = {b.node(AtenOp::maximum_default, "y", {x, product}, {1, 2})};
  const Annotations found = annotate(b.graph, {});
  EXPECT_TRUE(share(found, "x", "y"));
  EXPECT_TRUE(share(found, "x", "product"));
}

TEST(Annotation, custom_or_no_scheme_is_followed) {
  GraphBuilder b;
  const auto first = b.node(AtenOp::neg_default, "first", {b.input("x", {4})}, {4});
  const auto second = b.node(AtenOp::neg_default, "second", {first}, {4});
  b.graph.outputs = {b.node(AtenOp::neg_default, "third", {second}, {4})};
  const Annotations found = annotate(b.graph, {.general = 0, .of_node = {{"second", 1}, {"third", kLeftFloat}}});
  EXPECT_THAT(names_of(found), ElementsAre("first", "second"));
  EXPECT_EQ(value(found, "first").scheme, 0);
  EXPECT_EQ(value(found, "second").scheme, 1);
}

TEST(Expansion, operator_with_inner_values_is_expanded) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 4});
  const auto soft =
      b.node(AtenOp::softmax_int, "soft", {x}, {1, 4}, {{"dim", int64_t{1}}, {"dtype", std::monostate()}});
  b.graph.outputs = {b.relu("y", soft)};
  const std::vector<Expansion> found = expansions(b.graph, {});
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found.front().node, "soft");
  EXPECT_GT(found.front().graph.nodes.size(), 1);
  EXPECT_EQ(found.front().graph[found.front().graph.inputs.front()].name, "x");
  EXPECT_TRUE(expansions(b.graph, {.general = kLeftFloat}).empty());
}

TEST(Expansion, batch_norm_alone_is_convolution) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 2, 3, 3});
  const auto ones = b.constant<float>("ones", {2}, {1, 1}), halves = b.constant<float>("halves", {2}, {0.5F, 0.5F});
  b.graph.outputs = {b.node(AtenOp::batch_norm_default, "norm", {x, halves, ones, ones, ones}, {1, 2, 3, 3},
                            {{"training", false}, {"momentum", 0.1}, {"eps", 1e-5}, {"cudnn_enabled", false}})};
  const std::vector<Expansion> found = expansions(b.graph, {});
  ASSERT_EQ(found.size(), 1);
  ASSERT_EQ(found.front().graph.nodes.size(), 1);
  EXPECT_EQ(found.front().graph.nodes.front().op, ir::Op(AtenOp::conv2d_default));
}

}  // namespace
}  // namespace carina::quantize
