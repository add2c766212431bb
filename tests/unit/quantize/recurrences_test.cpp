#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "graphs.h"
#include "quantize/recurrences_internal.h"
#include "quantize/sharing.h"

namespace carina::quantize {
namespace {

using ir::ValueId;

ValueId layer(GraphBuilder& b, const std::string& name, ValueId x, ValueId weight) {
  return b.node(AtenOp::linear_default, name, {x, weight, ValueId()}, {1, 2});
}

struct Names {
  GraphBuilder& b;
  [[nodiscard]] size_t value(std::string_view name) const {
    for (size_t v = 0; v < b.graph.values.size(); ++v) {
      if (b.graph.values[v].name == name) return v;
    }
    ADD_FAILURE() << name;
    return 0;
  }
  [[nodiscard]] size_t group(const Sharing& sharing, std::string_view name) const { return sharing.group[value(name)]; }
};

Sharing sharing_of_all(const GraphBuilder& b, Extrema extrema = Extrema::kShare) {
  return sharing_of(b.graph, std::vector<bool>(b.graph.nodes.size(), false), extrema);
}

// Two steps of a cell: gate = sigmoid(W x + U h), state = gate * h, h' = tanh(state).
GraphBuilder two_steps() {
  GraphBuilder b;
  const ValueId w = b.constant<float>("w", {2, 2}, {1, 2, 3, 4}), u = b.constant<float>("u", {2, 2}, {1, 2, 3, 4});
  ValueId h = b.input("h", {1, 2});
  for (const std::string step : {"0", "1"}) {
    const ValueId x = b.input("x" + step, {1, 2});
    const ValueId sum =
        b.node(AtenOp::add_Tensor, "sum" + step, {layer(b, "wx" + step, x, w), layer(b, "uh" + step, h, u)}, {1, 2});
    const ValueId gate = b.node(AtenOp::sigmoid_default, "gate" + step, {sum}, {1, 2});
    const ValueId state = b.node(AtenOp::mul_Tensor, "state" + step, {gate, h}, {1, 2});
    h = b.node(AtenOp::tanh_default, "h" + step, {state}, {1, 2});
  }
  b.graph.outputs = {h};
  return b;
}

TEST(Recurrences, gates_of_all_steps_share_their_parameters) {
  GraphBuilder b = two_steps();
  const Sharing sharing = sharing_of_all(b);
  const Names names{b};
  EXPECT_EQ(names.group(sharing, "sum0"), names.group(sharing, "sum1"));
  EXPECT_EQ(names.group(sharing, "gate0"), names.group(sharing, "gate1"));
  EXPECT_NE(names.group(sharing, "sum0"), names.group(sharing, "gate0"));
  // The state is after a function.
  EXPECT_NE(names.group(sharing, "state0"), names.group(sharing, "state1"));
}

TEST(Recurrences, products_of_all_steps_share_parameters_and_statistics) {
  GraphBuilder b = two_steps();
  // A weight of its own for the second step, with the same bytes, as calibration has it.
  for (ir::Node& node : b.graph.nodes) {
    if (node.name == "uh1") node.inputs[1] = b.graph.add_value(ir::Value(b.graph[node.inputs[1]]));
  }
  const Sharing sharing = sharing_of_all(b);
  const Names names{b};
  for (const std::string product : {"wx", "uh"}) {
    EXPECT_EQ(names.group(sharing, product + "0"), names.group(sharing, product + "1"));
    EXPECT_EQ(sharing.layer_of[names.value(product + "1")], names.value(product + "0"));
  }
  EXPECT_EQ(names.group(sharing, "h"), names.group(sharing, "h0"));
  EXPECT_EQ(sharing.layer_of[names.value("gate1")], names.value("gate1"));
}

TEST(Recurrences, products_with_other_weights_are_other_layers) {
  GraphBuilder b = two_steps();
  for (ir::Node& node : b.graph.nodes) {
    if (node.name == "uh1") node.inputs[1] = b.constant<float>("v", {2, 2}, {1, 2, 3, 4});
  }
  const Sharing sharing = sharing_of_all(b);
  const Names names{b};
  EXPECT_EQ(sharing.layer_of[names.value("uh1")], names.value("uh1"));
  EXPECT_EQ(sharing.layer_of[names.value("wx1")], names.value("wx0"));
}

// x = x + W tanh(U x), three times: the sums may grow from each to the next.
TEST(Recurrences, repeated_blocks_share_nothing) {
  GraphBuilder b;
  const ValueId w = b.constant<float>("w", {2, 2}, {1, 2, 3, 4}), u = b.constant<float>("u", {2, 2}, {1, 2, 3, 4});
  ValueId x = b.input("x", {1, 2});
  for (const std::string block : {"0", "1", "2"}) {
    const ValueId inner = b.node(AtenOp::tanh_default, "inner" + block, {layer(b, "ux" + block, x, u)}, {1, 2});
    x = b.node(AtenOp::add_Tensor, "sum" + block, {x, layer(b, "wx" + block, inner, w)}, {1, 2});
  }
  b.graph.outputs = {x};
  const Sharing sharing = sharing_of_all(b);
  const Names names{b};
  for (const std::string name : {"inner", "ux", "wx", "sum"}) {
    EXPECT_NE(names.group(sharing, name + "1"), names.group(sharing, name + "2"));
    EXPECT_EQ(sharing.layer_of[names.value(name + "2")], names.value(name + "2"));
  }
}

TEST(Recurrences, quantizers_of_torchao_share_nothing_more) {
  GraphBuilder b = two_steps();
  const Sharing sharing = sharing_of_all(b, Extrema::kApart);
  const Names names{b};
  EXPECT_NE(names.group(sharing, "sum0"), names.group(sharing, "sum1"));
}

TEST(Recurrences, steps_that_are_left_float_share_nothing) {
  GraphBuilder b = two_steps();
  std::vector<bool> left_float(b.graph.nodes.size(), false);
  for (size_t n = 0; n < b.graph.nodes.size(); ++n) left_float[n] = b.graph.nodes[n].name == "gate1";
  const Sharing sharing = sharing_of(b.graph, left_float, Extrema::kShare);
  const Names names{b};
  EXPECT_NE(names.group(sharing, "gate0"), names.group(sharing, "gate1"));
}

// A head on two images is no recurrence: neither result depends on the other.
TEST(Recurrences, heads_with_the_same_weights_share_nothing) {
  GraphBuilder b;
  const ValueId w = b.constant<float>("w", {2, 2}, {1, 2, 3, 4});
  for (const std::string image : {"0", "1"}) {
    const ValueId score = layer(b, "score" + image, b.input("x" + image, {1, 2}), w);
    b.graph.outputs.push_back(b.node(AtenOp::sigmoid_default, "p" + image, {score}, {1, 2}));
  }
  const Sharing sharing = sharing_of_all(b);
  const Names names{b};
  EXPECT_NE(names.group(sharing, "score0"), names.group(sharing, "score1"));
  EXPECT_NE(names.group(sharing, "p0"), names.group(sharing, "p1"));
}

// Parameters of all values, each its own group: int16 with a scale that grows by value.
std::vector<std::optional<Quantization>> growing(const GraphBuilder& b) {
  std::vector<std::optional<Quantization>> parameters;
  for (size_t v = 0; v < b.graph.values.size(); ++v)
    parameters.push_back(
        Quantization{.dtype = DType::kInt16, .scales = {1.0 + static_cast<double>(v)}, .zero_points = {0}});
  return parameters;
}

TEST(Recurrences, wide_states_have_the_widest_range_of_all_steps) {
  const GraphBuilder b = two_steps();
  std::vector<size_t> group(b.graph.values.size());
  std::iota(group.begin(), group.end(), size_t{0});
  std::vector<std::optional<Quantization>> parameters = growing(b);
  const auto before = parameters;
  widen_states_of_recurrences(b.graph, group, parameters);
  for (size_t v = 0; v < group.size(); ++v) {
    const std::string& name = b.graph.values[v].name;
    const auto scale_of = [&](std::string_view wanted) {
      return before[static_cast<size_t>(std::ranges::find(b.graph.values, wanted, &ir::Value::name) -
                                        b.graph.values.begin())]
          ->scale();
    };
    const double wanted = name == "state0" ? scale_of("state1") : name == "h0" ? scale_of("h1") : scale_of(name);
    EXPECT_EQ(parameters[v]->scale(), wanted) << name;
  }
}

TEST(Recurrences, states_with_8_bits_keep_their_ranges) {
  const GraphBuilder b = two_steps();
  std::vector<size_t> group(b.graph.values.size());
  std::iota(group.begin(), group.end(), size_t{0});
  std::vector<std::optional<Quantization>> parameters = growing(b);
  for (auto& one : parameters) one->dtype = DType::kInt8;
  const auto before = parameters;
  widen_states_of_recurrences(b.graph, group, parameters);
  EXPECT_EQ(parameters, before);
}

}  // namespace
}  // namespace carina::quantize
