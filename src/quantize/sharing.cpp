#include "quantize/sharing.h"

#include <algorithm>

#include "base/union_find.h"
#include "facts/aten_traits.h"
#include "quantize/recurrences_internal.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::ValueId;

using Keeps = AtenQuantization;

bool is_zero(const ir::Value& value) {
  return value.dtype != DType::kFp32 ||
         std::ranges::all_of(value.constant->values<float>(), [](float v) { return v == 0; });
}

// Whether `product` is x times constants: as a product, or as a depthwise 1x1 convolution without a bias.
bool is_multiple_of(const ir::Graph& graph, ValueId product, ValueId x, const std::vector<ir::NodeId>& producers) {
  if (!producers[product.index()].valid()) return false;
  const Node& node = graph[producers[product.index()]];
  const auto is_constant = [&](size_t i) { return node.inputs[i].valid() && graph[node.inputs[i]].constant; };
  if (node.op == ir::Op(AtenOp::mul_Tensor))
    return (node.inputs[0] == x && is_constant(1)) || (node.inputs[1] == x && is_constant(0));
  if (node.op != ir::Op(AtenOp::conv2d_default) || node.inputs[0] != x || !is_constant(1)) return false;
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
  return !has_bias && graph[node.inputs[1]].shape == Shape{graph[x].shape[1], 1, 1, 1};
}

// max(x, a * x): the positive half of the result is x, so that parameters of its own would add a rounding.
bool is_leaky_relu(const ir::Graph& graph, const Node& node, const std::vector<ir::NodeId>& producers) {
  return is_multiple_of(graph, node.inputs[1], node.inputs[0], producers) ||
         is_multiple_of(graph, node.inputs[0], node.inputs[1], producers);
}

// None: the result has parameters of its own.
std::optional<Keeps> keeps_of(const ir::Graph& graph, const Node& node, const std::vector<ir::NodeId>& producers,
                              Extrema extrema) {
  const Keeps keeps = traits_of(node.op.aten()).quantization;
  const bool is_extremum = keeps == Keeps::kAll && traits_of(node.op.aten()).family == AtenFamily::kArithmetic;
  if (is_extremum && extrema == Extrema::kApart && !is_leaky_relu(graph, node, producers)) return std::nullopt;
  if (keeps == Keeps::kBranches) {
    const bool apart = std::ranges::any_of(
        node.inputs, [&](ValueId id) { return id.valid() && graph[id].constant && !is_zero(graph[id]); });
    return apart ? std::nullopt : std::optional(Keeps::kAll);
  }
  return keeps == Keeps::kOwn ? std::nullopt : std::optional(keeps);
}

bool has_float_values(const ir::Graph& graph, ValueId id) {
  return id.valid() && graph[id].dtype == DType::kFp32;
}

// The values that are fused with the activation that reads the last of them: no other node reads them, and the producer
// of the first may choose the parameters of its result. In our own quantization, nodes between may move elements.
//   Example: conv1d and relu. conv1d is a conv2d between two views, so two values lie before the relu.
std::vector<ValueId> fused_before(const ir::Graph& graph, ValueId before, const std::vector<ir::NodeId>& producers,
                                  const std::vector<std::vector<ir::NodeId>>& users, const std::vector<bool>& is_output,
                                  const std::vector<bool>& left_float, Extrema extrema) {
  std::vector<ValueId> fused;
  for (;;) {
    if (!has_float_values(graph, before)) return {};
    const ir::NodeId producer = producers[before.index()];
    if (!producer.valid() || users[before.index()].size() != 1 || is_output[before.index()]) return {};
    fused.push_back(before);
    const std::optional<Keeps> keeps = keeps_of(graph, graph[producer], producers, extrema);
    if (!keeps || *keeps == Keeps::kActivation) return fused;
    if (extrema == Extrema::kApart || left_float[producer.index()] || graph[producer].outputs.size() != 1 ||
        !keeps_order(graph[producer].op.aten()))
      return {};
    before = graph[producer].inputs.front();
  }
}

void join_operands(const ir::Graph& graph, const Node& node, UnionFind& groups) {
  for (const ValueId id : node.inputs) {
    const bool joins = has_float_values(graph, id) && has_float_values(graph, node.inputs.front()) &&
                       !graph[id].constant && !graph[node.inputs.front()].constant;
    if (joins) groups.join(node.inputs.front().index(), id.index());
  }
}

}  // namespace

std::optional<WeightRole> weight_role_of(const Node& node) {
  switch (node.op.aten()) {
    case AtenOp::conv1d_default:
    case AtenOp::conv2d_default:
    case AtenOp::conv3d_default:
    case AtenOp::linear_default:
      return WeightRole{};
    case AtenOp::convolution_default:
      return WeightRole{.axis = node.attributes.get<bool>("transposed") ? 1 : 0};
    case AtenOp::conv_transpose2d_input:
      return WeightRole{.axis = 1};
    default:
      return std::nullopt;
  }
}

Sharing sharing_of(const ir::Graph& graph, const std::vector<bool>& left_float, Extrema extrema) {
  const auto producers = ir::producers(graph);
  const auto users = ir::users(graph);
  const auto is_output = ir::is_output(graph);
  UnionFind groups(graph.values.size());
  Sharing sharing{.group = std::vector<size_t>(graph.values.size()),
                  .is_observed = std::vector<bool>(graph.values.size(), true),
                  .layer_of = {}};
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const std::optional<Keeps> keeps = keeps_of(graph, node, producers, extrema);
    if (left_float[n] || !keeps || node.outputs.empty()) continue;
    if (*keeps == Keeps::kOperands) join_operands(graph, node, groups);
    if (!has_float_values(graph, node.outputs.front())) continue;
    const size_t result = node.outputs.front().index();
    for (const ValueId output : node.outputs) {
      if (has_float_values(graph, output)) groups.join(result, output.index());
    }
    for (const ValueId input : node.inputs) {
      if (has_float_values(graph, input)) groups.join(result, input.index());
      if (*keeps != Keeps::kAll) break;
    }
    const auto leave_out = [&](ValueId before) {
      for (const ValueId value : fused_before(graph, before, producers, users, is_output, left_float, extrema))
        sharing.is_observed[value.index()] = false;
    };
    const bool is_extremum = node.op == ir::Op(AtenOp::maximum_default) || node.op == ir::Op(AtenOp::minimum_default);
    if (is_extremum && extrema == Extrema::kShare) std::ranges::for_each(node.inputs, leave_out);
    if (*keeps == Keeps::kActivation) leave_out(node.inputs.front());
  }
  // A state is read as what the run before wrote.
  for (size_t i = 0; i < graph.states.size(); ++i) {
    const ValueId before = graph.state_input(i), after = graph.state_output(i);
    if (has_float_values(graph, before) && !graph[after].constant) groups.join(before.index(), after.index());
  }
  if (extrema == Extrema::kShare) join_gates_of_recurrences(graph, left_float, groups);
  for (size_t v = 0; v < graph.values.size(); ++v) sharing.group[v] = groups.find(v);
  sharing.layer_of = layers_of(graph, left_float, sharing.group);
  return sharing;
}

}  // namespace carina::quantize
