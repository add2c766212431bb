#include "ir/propagate_quantization.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "facts/aten_traits.h"

namespace carina::ir {

using ir::Node;
using ir::ValueId;

namespace {

bool has_result(const Node& node) {
  return node.op.is_aten() && !node.outputs.empty() && node.outputs[0].valid();
}
bool is_data_movement(const Node& node) {
  return has_result(node) && traits_of(node.op.aten()).data == AtenData::kPermuted;
}
bool keeps_order(const Node& node) {
  return has_result(node) && carina::keeps_order(node.op.aten());
}

bool joins(const Node& node) {
  if (!has_result(node)) return false;
  const AtenTraits& traits = traits_of(node.op.aten());
  return traits.data == AtenData::kGathered && traits.quantization == AtenQuantization::kAll;
}

// Copies parameters to a value whose only reader is an activation, moves its elements, or joins it with others.
//   pool(x) ---> cat -> quantize: the pools have the parameters of the quantize node
//   pool(y) --/
// Quantization is elementwise and monotonic: q(clamp(x)) = clamp(q(x)), q(cat(x, y)) = cat(q(x), q(y)).
void propagate_backwards(ir::Graph& graph) {
  const auto users = ir::users(graph);
  const auto outputs = ir::is_output(graph);
  const auto copy_to = [&](ValueId id, const std::optional<Quantization>& parameters) {
    ir::Value& before = graph[id];
    const bool alone = users[id.index()].size() == 1 && !outputs[id.index()] && !before.constant;
    const bool an_input = std::ranges::find(graph.inputs, id) != graph.inputs.end();
    if (alone && !an_input && !before.quantization && before.dtype == DType::kFp32) before.quantization = parameters;
  };
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (!keeps_order(*node) && !is_data_movement(*node) && !joins(*node)) continue;
    const auto& parameters = graph[node->outputs[0]].quantization;
    if (!parameters || parameters->per_channel()) continue;
    for (const ValueId id : node->inputs) {
      if (id.valid()) copy_to(id, parameters);
      if (!joins(*node)) break;
    }
  }
}

// Returns whether the node joins tensors with the same parameters, so that it can join their integers.
bool joins_alike(const ir::Graph& graph, const Node& node) {
  return joins(node) && std::ranges::all_of(node.inputs, [&](ValueId id) {
           return id.valid() && graph[id].quantization && graph[id].quantization == graph[node.inputs[0]].quantization;
         });
}

// Zero is exact in every quantization (it is the zero point), so a pad with zeros keeps the parameters of its input.
bool pads_with_zero(const Node& node) {
  return has_result(node) && node.op == ir::Op(AtenOp::constant_pad_nd_default) && node.attributes.number("value") == 0;
}

// Copies parameters from the input to the result of nodes that only move data or pad it with zeros.
void propagate_forwards(ir::Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (!is_data_movement(node) && !joins_alike(graph, node) && !pads_with_zero(node)) continue;
    const auto& before = graph[node.inputs[0]].quantization;
    ir::Value& after = graph[node.outputs[0]];
    if (before && !before->per_channel() && !after.quantization) after.quantization = before;
  }
}

// Returns the scale with which int8 represents float weights of a decomposition exactly: 1 for integers from -127 to
// 127; u if all weights are -u, 0 or u (an average pool: u = 1/9). No value for other weights.
std::optional<double> unit_of(const ir::Value& weight) {
  if (!weight.constant || weight.quantization || weight.dtype != DType::kFp32) return std::nullopt;
  const auto floats = weight.constant->values<float>();
  if (std::ranges::all_of(floats, [](float v) { return v >= -127 && v <= 127 && v == std::trunc(v); })) return 1;
  const auto first = std::ranges::find_if(floats, [](float v) { return v != 0; });
  const float unit = std::abs(*first);
  if (!std::isnormal(unit) || std::ranges::any_of(floats, [&](float v) { return v != 0 && std::abs(v) != unit; }))
    return std::nullopt;
  return unit;
}

void propagate_to_weights(ir::Graph& graph) {
  for (const Node& node : graph.nodes) {
    const bool has_weights = has_result(node) && traits_of(node.op.aten()).family == AtenFamily::kConvolution;
    if (!has_weights || (node.inputs.size() != 2 && (node.inputs.size() != 3 || node.inputs[2].valid()))) continue;
    const auto& result = graph[node.outputs[0]].quantization;
    ir::Value& weight = graph[node.inputs[1]];
    const std::optional<double> unit = unit_of(weight);
    if (!result || !is_integer(result->dtype) || !unit) continue;
    weight.quantization = Quantization{.dtype = DType::kInt8,
                                       .scales = {*unit},
                                       .zero_points = {0},
                                       .axis = Quantization::kPerTensor,
                                       .qmin = -127,
                                       .qmax = 127};
  }
}

// add(x, y, alpha=a) equals add(x, y * a), where y * a has the integers of y with a scale a times as large.
void propagate_through_alpha(ir::Graph& graph) {
  const auto users = ir::users(graph);
  const auto sole_user_adds = [&](ValueId id) {
    if (users[id.index()].size() != 1) return false;
    const Node& user = graph[users[id.index()][0]];
    const bool adds = user.op == ir::Op(AtenOp::add_Tensor) || user.op == ir::Op(AtenOp::sub_Tensor);
    return adds && graph[user.outputs[0]].quantization && graph[user.inputs[0]].quantization;
  };
  for (const Node& node : graph.nodes) {
    if (node.op != ir::Op(AtenOp::mul_Tensor)) continue;
    const auto& before = graph[node.inputs[0]].quantization;
    ir::Value& number = graph[node.inputs[1]];
    ir::Value& after = graph[node.outputs[0]];
    const bool is_number = number.constant && !number.quantization && number.dtype == DType::kFp32 &&
                           number.constant->values<float>().size() == 1 && users[node.inputs[1].index()].size() == 1;
    if (!is_number || !before || before->per_channel() || after.quantization || !sole_user_adds(node.outputs[0]))
      continue;
    const double alpha = number.constant->values<float>()[0];
    if (alpha <= 0 || !is_integer(before->dtype)) continue;
    after.quantization = before;
    after.quantization->scales[0] *= alpha;
    number.quantization = before;
    number.quantization->scales[0] = alpha;
    number.quantization->zero_points[0] = 0;
  }
}

}  // namespace

void propagate_quantization(ir::Graph& graph) {
  propagate_backwards(graph);
  propagate_forwards(graph);
  propagate_through_alpha(graph);
  propagate_to_weights(graph);
}

}  // namespace carina::ir
