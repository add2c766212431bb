#include "evaluate/kernel_evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "normalize/normalize.h"
#include "normalize/passes_internal.h"

namespace carina::evaluate {
namespace {

using ir::ValueId;
using testing::ElementsAre;

ValueId add(ir::Graph& graph, AtenOp op, std::vector<ValueId> inputs, const Shape& shape, ir::Attributes attributes) {
  const ValueId id = graph.add_value("v", DType::kFp32, shape);
  graph.add_node({.op = op,
                  .name = "n",
                  .inputs = std::move(inputs),
                  .outputs = {id},
                  .attributes = std::move(attributes),
                  .source = {}});
  return id;
}

ValueId view(ir::Graph& graph, ValueId input, std::vector<int64_t> size) {
  const Shape shape(size);
  return add(graph, AtenOp::view_default, {input}, shape, {{"size", std::move(size)}});
}

ValueId expand(ir::Graph& graph, ValueId input, std::vector<int64_t> size) {
  const Shape shape(size);
  return add(graph, AtenOp::expand_default, {input}, shape, {{"size", std::move(size)}, {"implicit", false}});
}

ValueId constant(ir::Graph& graph, const std::vector<float>& values) {
  return graph.add_constant("c", Tensor::of<float>(DType::kFp32, Shape{static_cast<int64_t>(values.size())}, values));
}

TEST(KernelEvaluator, given_node_is_computed) {
  ir::Graph graph;
  const ValueId x = graph.add_value("x", DType::kFp32, Shape{2});
  graph.inputs = {x};
  graph.outputs = {add(graph, AtenOp::mul_Tensor, {x, constant(graph, {2, 3})}, {2}, {})};
  const auto program = KernelEvaluator().load(graph);
  ASSERT_TRUE(program) << to_string(program.error());
  for (const float factor : {1.0F, 2.0F}) {
    const auto result =
        (*program)->run(std::vector{Tensor::of<float>(DType::kFp32, {2}, std::vector{factor, 10 * factor})});
    ASSERT_TRUE(result) << to_string(result.error());
    EXPECT_THAT(result->front().values<float>(), ElementsAre(2 * factor, 30 * factor));
  }
}

TEST(KernelEvaluator, nodes_without_kernel_are_all_named) {
  ir::Graph graph;
  const ValueId x = graph.add_value("x", DType::kFp32, Shape{2});
  graph.inputs = {x};
  const ValueId y = add(graph, AtenOp::signbit_default, {x}, {2}, {});
  graph.outputs = {add(graph, AtenOp::signbit_default, {y}, {2}, {})};
  const auto program = KernelEvaluator().load(graph);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().size(), 2U);
}

TEST(FoldConstants, chains_of_constants_fold_to_one) {
  ir::Graph graph;
  const ValueId x = graph.add_value("x", DType::kFp32, Shape{1, 2, 1, 1});
  graph.inputs = {x};
  const ValueId root = add(graph, AtenOp::sqrt_default, {constant(graph, {4, 9})}, {2}, {});
  const ValueId addend = view(graph, root, {1, 2, 1, 1});
  graph.outputs = {add(graph, AtenOp::add_Tensor, {x, addend}, {1, 2, 1, 1}, {{"alpha", int64_t{1}}})};
  ASSERT_TRUE(normalize::normalize(graph, KernelEvaluator(), {}));
  ASSERT_EQ(graph.nodes.size(), 1U);
  const ir::Value& folded = graph[graph.nodes[0].inputs[1]];
  ASSERT_TRUE(folded.constant);
  EXPECT_EQ(folded.shape, Shape({1, 2, 1, 1}));
  EXPECT_THAT(folded.constant->values<float>(), ElementsAre(2, 3));
}

TEST(FoldConstants, folding_that_enlarges_the_file_is_skipped) {
  for (const int64_t rows : {int64_t{1} << 17, (int64_t{1} << 17) + 1}) {  // 1 MiB, and more than it
    ir::Graph graph;
    graph.outputs = {expand(graph, constant(graph, {1, 2}), {rows, 2})};
    ASSERT_TRUE(normalize::fold_constants(graph, KernelEvaluator(), {}));
    EXPECT_EQ(graph.nodes.empty(), rows == int64_t{1} << 17);
  }
}

TEST(FoldConstants, large_constants_move_only_without_growth) {
  ir::Graph graph;
  const std::vector<float> many(400'000, 1.0F);
  graph.outputs = {view(graph, constant(graph, many), {4, 100'000})};
  ASSERT_TRUE(normalize::fold_constants(graph, KernelEvaluator(), {}));
  EXPECT_TRUE(graph.nodes.empty());
}

TEST(FoldConstants, quantized_constants_keep_model_values) {
  ir::Graph graph;
  const ValueId c = constant(graph, {1, 2});
  graph[c].quantization = Quantization{.scales = {1.0}, .zero_points = {0}};
  graph.outputs = {view(graph, c, {2, 1})};
  ASSERT_TRUE(normalize::fold_constants(graph, KernelEvaluator(), {}));
  EXPECT_EQ(graph.nodes.size(), 1U);
}

}  // namespace
}  // namespace carina::evaluate
