#include "quantize/softmax_scores_internal.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace carina::quantize {
namespace {

// softmax(s + m) over the last axis in its decomposed form, with the exponential as an output.
struct Scores {
  ir::Graph graph;
  ir::ValueId s, m, sum, shifted, power;

  Scores() {
    s = value("s"), m = value("m"), sum = value("sum"), shifted = value("shifted"), power = value("power");
    const ir::ValueId top = value("top");
    node(AtenOp::add_Tensor, {s, m}, sum);
    node(AtenOp::amax_default, {sum}, top);
    node(AtenOp::sub_Tensor, {sum, top}, shifted);
    node(AtenOp::exp_default, {shifted}, power);
    graph.inputs = {s, m};
    graph.outputs = {power};
  }
  ir::ValueId value(const std::string& name) { return graph.add_value(name, DType::kFp32, Shape{4, 8}); }
  void node(AtenOp op, const std::vector<ir::ValueId>& inputs, ir::ValueId output) {
    graph.add_node(
        {.op = op, .name = graph[output].name, .inputs = inputs, .outputs = {output}, .attributes = {}, .source = {}});
  }
  [[nodiscard]] bool is(ir::ValueId id) const { return softmax_scores(graph)[id.index()]; }
};

TEST(SoftmaxScores, what_only_a_softmax_reads_is_scores) {
  const Scores scores;
  EXPECT_TRUE(scores.is(scores.s));
  EXPECT_TRUE(scores.is(scores.m));
  EXPECT_TRUE(scores.is(scores.sum));
  EXPECT_TRUE(scores.is(scores.shifted));
  EXPECT_FALSE(scores.is(scores.power));
}

TEST(SoftmaxScores, value_with_another_reader_is_none_nor_is_what_it_is_made_of) {
  Scores scores;
  const ir::ValueId other = scores.value("other");
  scores.node(AtenOp::tanh_default, {scores.sum}, other);
  scores.graph.outputs.push_back(other);
  EXPECT_FALSE(scores.is(scores.sum));
  EXPECT_FALSE(scores.is(scores.m));
}

TEST(SoftmaxScores, output_is_none) {
  Scores scores;
  scores.graph.outputs.push_back(scores.sum);
  EXPECT_FALSE(scores.is(scores.sum));
  EXPECT_FALSE(scores.is(scores.s));
}

TEST(SoftmaxScores, difference_that_another_node_reads_is_none) {
  Scores scores;
  const ir::ValueId other = scores.value("other");
  scores.node(AtenOp::relu_default, {scores.shifted}, other);
  scores.graph.outputs.push_back(other);
  EXPECT_FALSE(scores.is(scores.sum));
}

}  // namespace
}  // namespace carina::quantize
