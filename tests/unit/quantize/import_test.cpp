#include "quantize/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs.h"
#include "ir/pass.h"

namespace carina::quantize {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Steps kFine{.scale = 0.5, .zero_point = 3};
constexpr Steps kCoarse{.scale = 2.0, .zero_point = -1};

void fold(GraphBuilder& b) {
  const Result<void> folded = fold_imported(b.graph, {});
  ASSERT_TRUE(folded) << to_string(folded.error());
  ASSERT_TRUE(ir::verify_structure(b.graph));
}

TEST(FoldImported, activations_take_their_parameters) {
  GraphBuilder b;
  const auto x = b.pair("x", b.input("x", {1, 4}), kFine);
  const auto y = b.relu("y", x);
  b.graph.outputs = {b.pair("y", y, kCoarse)};
  fold(b);
  EXPECT_THAT(b.ops(), ElementsAre("aten.relu.default"));
  EXPECT_EQ(b.quantization("x").scale(), 0.5);
  EXPECT_EQ(b.quantization("x").zero_point(), 3);
  EXPECT_EQ(b.quantization("y").scale(), 2.0);
  EXPECT_EQ(b.value("x").dtype, DType::kFp32);
  EXPECT_EQ(b.graph.outputs.front(), *b.graph.find_value("y"));
}

TEST(FoldImported, shared_quantize_node_folds) {
  GraphBuilder b;
  const auto q = b.quantize("q", b.input("x", {4}), kFine);
  const auto y = b.add("y", b.dequantize("a", q, kFine), b.dequantize("b", q, kFine));
  b.graph.outputs = {b.pair("y", y, kFine)};
  fold(b);
  EXPECT_THAT(b.ops(), ElementsAre("aten.add.Tensor"));
  EXPECT_EQ(b.graph.nodes[0].inputs[0], b.graph.nodes[0].inputs[1]);
}

TEST(FoldImported, constants_keep_their_integers) {
  GraphBuilder b;
  const auto integers = b.constant<int8_t>("w", {2, 2}, {1, -2, 3, -4});
  const auto w = b.dequantize_channels("w_dq", integers, b.constant<float>("s", {2}, {0.5F, 0.25F}),
                                       b.constant<int64_t>("z", {2}, {0, 0}), 0);
  const auto y = b.linear("y", b.pair("x", b.input("x", {1, 2}), kFine), w, ir::ValueId());
  b.graph.outputs = {b.pair("y", y, kCoarse)};
  fold(b);
  const ir::Value& weight = b.graph[b.graph.nodes[0].inputs[1]];
  EXPECT_EQ(weight.name, "w");
  EXPECT_EQ(weight.dtype, DType::kFp32);
  EXPECT_EQ(weight.constant->dtype, DType::kInt8);
  EXPECT_THAT(weight.quantization->scales, ElementsAre(0.5, 0.25));
  EXPECT_EQ(weight.quantization->axis, 0);
  EXPECT_EQ(weight.quantization->qmin, -127);
}

TEST(FoldImported, constant_with_two_parameters_becomes_two_values) {
  GraphBuilder b;
  const auto integers = b.constant<int8_t>("c", {2}, {1, 2});
  b.graph.outputs = {b.add("y", b.dequantize("a", integers, kFine), b.dequantize("b", integers, kCoarse))};
  fold(b);
  const ir::Node& add = b.graph.nodes[0];
  EXPECT_EQ(b.graph[add.inputs[0]].quantization->scale(), 0.5);
  EXPECT_EQ(b.graph[add.inputs[1]].quantization->scale(), 2.0);
}

TEST(FoldImported, different_parameters_become_a_rescale) {
  GraphBuilder b;
  const auto x = b.pair("x", b.input("x", {4}), kFine);
  b.graph.outputs = {b.pair("y", b.relu("y", b.pair("again", x, kCoarse)), kCoarse)};
  fold(b);
  EXPECT_THAT(b.ops(), ElementsAre("aten.clone.default", "aten.relu.default"));
  const ir::Node& clone = b.graph.nodes[0];
  EXPECT_EQ(b.graph[clone.inputs[0]].quantization->scale(), 0.5);
  EXPECT_EQ(b.graph[clone.outputs[0]].quantization->scale(), 2.0);
}

TEST(FoldImported, value_also_read_as_float_stays_float) {
  GraphBuilder b;
  const auto x = b.input("x", {4});
  b.graph.outputs = {b.relu("y", b.pair("x", x, kFine)), b.relu("z", x)};
  fold(b);
  EXPECT_FALSE(b.value("x").quantization);
  EXPECT_THAT(b.ops(), ElementsAre("aten.clone.default", "aten.relu.default", "aten.relu.default"));
  EXPECT_EQ(b.graph.nodes[2].inputs[0], *b.graph.find_value("x"));
}

TEST(FoldImported, integers_with_other_readers_keep_their_nodes) {
  GraphBuilder b;
  const auto q = b.quantize("q", b.input("x", {4}), kFine);
  const auto integers = b.input("i", {4}, DType::kInt8);
  b.graph.outputs = {q, b.relu("y", b.dequantize("d", integers, kCoarse))};
  fold(b);
  EXPECT_THAT(b.ops(), ElementsAre("quantized_decomposed.quantize_per_tensor.default",
                                   "quantized_decomposed.dequantize_per_tensor.default", "aten.relu.default"));
  EXPECT_EQ(b.quantization("x").scale(), 0.5);
  EXPECT_EQ(b.quantization("d").scale(), 2.0);
}

TEST(FoldImported, impossible_parameters_are_all_named) {
  GraphBuilder b;
  const auto x = b.input("x", {4});
  b.graph.outputs = {b.pair("a", x, {.scale = -1}), b.pair("b", x, {.scale = 1, .zero_point = 500})};
  const Result<void> folded = fold_imported(b.graph, {});
  ASSERT_FALSE(folded);
  EXPECT_THAT(to_string(folded.error()), HasSubstr("a_q (model.py:1): a scale must be a positive number"));
  EXPECT_THAT(to_string(folded.error()), HasSubstr("b_dq (model.py:1): a zero point lies outside the type"));
}

TEST(FoldImported, wrong_number_of_scales_is_an_error) {
  GraphBuilder b;
  const auto integers = b.constant<int8_t>("w", {2, 2}, {1, -2, 3, -4});
  b.graph.outputs = {b.dequantize_channels("d", integers, b.constant<float>("s", {3}, {1, 1, 1}),
                                           b.constant<int64_t>("z", {3}, {0, 0, 0}), 0),
                     b.dequantize_channels("e", integers, b.constant<float>("s", {2}, {1, 1}),
                                           b.constant<int64_t>("z", {2}, {0, 0}), 7)};
  const Result<void> folded = fold_imported(b.graph, {});
  ASSERT_FALSE(folded);
  EXPECT_EQ(folded.error().size(), 2);
}

}  // namespace
}  // namespace carina::quantize
