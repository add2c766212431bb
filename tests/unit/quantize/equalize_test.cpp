#include "quantize/equalize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs.h"
#include "quantize/ptq.h"

namespace carina::quantize {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;

using Samples = std::vector<std::vector<Tensor>>;

// Equalizes the graph by the values of one sample.
void equalize_by(ir::Graph& graph, const Shape& shape, const std::vector<float>& sample,
                 Equalization equalization = Equalization::kAcrossLayers) {
  PtqOptions options;
  options.scheme.general.weights.equalization = equalization;
  const auto done = equalize(graph, Samples{{Tensor::of<float>(DType::kFp32, shape, sample)}}, options);
  ASSERT_TRUE(done) << to_string(done.error());
}

std::vector<float> constant_of(const ir::Graph& graph, ir::ValueId id) {
  const auto values = graph[id].constant->values<float>();
  return {values.begin(), values.end()};
}

std::vector<float> elements_of(const GraphBuilder& b, const std::string& name) {
  const auto values = b.value(name).constant->values<float>();
  return {values.begin(), values.end()};
}

ir::Attributes window(int64_t groups) {
  return {{"stride", std::vector<int64_t>{1, 1}},
          {"padding", std::vector<int64_t>{0, 0}},
          {"dilation", std::vector<int64_t>{1, 1}},
          {"groups", groups}};
}

ir::ValueId slice(GraphBuilder& b, const std::string& name, ir::ValueId x, const Shape& shape, int64_t step) {
  return b.node(AtenOp::slice_Tensor, name, {x}, shape,
                {{"dim", int64_t{1}}, {"start", int64_t{0}}, {"end", int64_t{4}}, {"step", step}});
}

// The first channel is 100 times as large as the others, whose weights in the next layer are 100 times as large.
TEST(Equalize, small_channels_become_larger_and_their_weights_smaller) {
  GraphBuilder b;
  const auto hidden = b.linear("h", b.input("x", {1, 1}), b.constant<float>("w", {8, 1}, {100, 1, 1, 1, 1, 1, 1, 1}),
                               b.constant<float>("a", {8}, {0, 1, 1, 1, 1, 1, 1, 1}));
  b.graph.outputs = {b.linear("y", b.relu("r", hidden),
                              b.constant<float>("v", {1, 8}, {1, 100, 100, 100, 100, 100, 100, 100}),
                              b.constant<float>("c", {1}, {0}))};
  equalize_by(b.graph, {1, 1}, {1});
  const std::vector<float> w = elements_of(b, "w"), v = elements_of(b, "v"), a = elements_of(b, "a");
  EXPECT_FLOAT_EQ(w[0], 100);
  EXPECT_FLOAT_EQ(v[0], 1);
  EXPECT_GT(w[1], 4);
  EXPECT_LE(w[1] + a[1], 100.01F);
  EXPECT_THAT(std::vector<float>(w.begin() + 1, w.end()), Each(FloatEq(a[1])));
  EXPECT_FLOAT_EQ(w[1] * v[1], 100);
}

TEST(Equalize, even_channels_stay) {
  GraphBuilder b;
  const auto hidden =
      b.linear("h", b.input("x", {1, 1}), b.constant<float>("w", {2, 1}, {3, 4}), b.constant<float>("a", {2}, {0, 0}));
  b.graph.outputs = {b.linear("y", hidden, b.constant<float>("v", {1, 2}, {1, 1}), b.constant<float>("c", {1}, {0}))};
  equalize_by(b.graph, {1, 1}, {1});
  EXPECT_THAT(elements_of(b, "w"), ElementsAre(3, 4));
}

// A depthwise layer has a scale of the weights per channel: its input may use the whole range in each.
TEST(Equalize, both_layers_of_prelu_take_the_same_factors) {
  GraphBuilder b;
  const Shape image{1, 2, 1, 1};
  const auto x = b.input("x", {1, 1, 1, 1});
  const auto upper =
      b.node(AtenOp::conv2d_default, "p", {x, b.constant<float>("w", {2, 1, 1, 1}, {16, 1}), {}}, image, window(1));
  const auto lower =
      b.node(AtenOp::conv2d_default, "q", {x, b.constant<float>("u", {2, 1, 1, 1}, {4, 0.5F}), {}}, image, window(1));
  const auto prelu = b.node(AtenOp::maximum_default, "m", {upper, lower}, image);
  b.graph.outputs = {
      b.node(AtenOp::conv2d_default, "d", {prelu, b.constant<float>("v", {2, 1, 1, 1}, {1, 1}), {}}, image, window(2))};
  equalize_by(b.graph, {1, 1, 1, 1}, {1});
  EXPECT_THAT(elements_of(b, "w"), ElementsAre(16, 16));
  EXPECT_THAT(elements_of(b, "u"), ElementsAre(4, 8));
  EXPECT_THAT(elements_of(b, "v"), ElementsAre(1, 1 / 16.0F));
}

TEST(Equalize, channels_that_nothing_reads_are_not_computed) {
  for (const Equalization equalization : {Equalization::kAcrossLayers, Equalization::kNone}) {
    GraphBuilder b;
    const auto hidden = b.linear("h", b.input("x", {1, 1}), b.constant<float>("w", {4, 1}, {1, 2, 3, 4}),
                                 b.constant<float>("a", {4}, {5, 6, 7, 8}));
    b.graph.outputs = {slice(b, "s", b.relu("r", hidden), {1, 2}, 2)};
    equalize_by(b.graph, {1, 1}, {1}, equalization);
    EXPECT_THAT(b.ops(), ElementsAre("aten.linear.default", "aten.relu.default"));
    EXPECT_THAT(constant_of(b.graph, b.graph.nodes[0].inputs[1]), ElementsAre(1, 3));
    EXPECT_THAT(constant_of(b.graph, b.graph.nodes[0].inputs[2]), ElementsAre(5, 7));
    EXPECT_EQ(b.graph[b.graph.outputs[0]].name, "s");
    EXPECT_EQ(b.graph.nodes[1].name, "s");
  }
}

TEST(Equalize, narrow_slice_beside_other_readers_gets_a_layer_of_its_own) {
  const auto layers = [](float other) {
    GraphBuilder b;
    const auto hidden = b.linear("h", b.input("x", {1, 1}), b.constant<float>("w", {4, 1}, {1, other, 1, other}),
                                 b.constant<float>("a", {4}, {0, 0, 0, 0}));
    const auto relu = b.relu("r", hidden);
    b.graph.outputs = {slice(b, "s", relu, {1, 2}, 2), relu};
    equalize_by(b.graph, {1, 1}, {1});
    return std::ranges::count(b.ops(), "aten.linear.default");
  };
  EXPECT_EQ(layers(4), 2);
  EXPECT_EQ(layers(1.5F), 1);
}

TEST(Equalize, wrong_samples_are_named) {
  GraphBuilder b;
  const auto hidden =
      b.linear("h", b.input("x", {1, 1}), b.constant<float>("w", {2, 1}, {3, 4}), b.constant<float>("a", {2}, {0, 0}));
  b.graph.outputs = {b.linear("y", hidden, b.constant<float>("v", {1, 2}, {1, 1}), b.constant<float>("c", {1}, {0}))};
  PtqOptions options;
  options.scheme.general.weights.equalization = Equalization::kAcrossLayers;
  const Samples samples{{Tensor::of<float>(DType::kFp32, {1, 2}, std::vector<float>{1, 2})}};
  const auto done = equalize(b.graph, samples, options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error()[0].what, "input x does not fit");
}

TEST(Equalize, squares_that_are_averaged_have_16_bits) {
  GraphBuilder b;
  const auto x = b.input("x", {1, 4});
  const auto square = b.node(AtenOp::mul_Tensor, "square", {x, x}, {1, 4});
  b.graph.outputs = {b.node(AtenOp::mean_dim, "mean", {square}, {1, 1},
                            {{"dim", std::vector<int64_t>{1}}, {"keepdim", true}, {"dtype", std::monostate()}})};
  const auto done = quantize(
      b.graph, Samples{{Tensor::of<float>(DType::kFp32, {1, 4}, std::vector<float>{1, 2, 3, 4})}}, PtqOptions(), Log{});
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(b.quantization("square").dtype, DType::kInt16);
  EXPECT_EQ(b.quantization("mean").dtype, DType::kInt8);
}

}  // namespace
}  // namespace carina::quantize
