#include "quantize/fine_weights_internal.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "quantize/sharing.h"
#include "quantize/weight_parameters_internal.h"
#include "tensor/elements.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::ValueId;

struct Divided {
  Tensor coarse;  // integers
  Tensor fine;    // floats
};

Divided divided(const ir::Value& weight) {
  const auto floats = weight.constant->values<float>();
  const Quantization& q = *weight.quantization;
  const ChannelOf channel(weight.shape, q);
  MutableTensor coarse(DType::kInt8, weight.shape), fine(DType::kFp32, weight.shape);
  const auto steps = coarse.values<int8_t>();
  const auto missing = fine.values<float>();
  for (size_t i = 0; i < floats.size(); ++i) {
    const double scale = q.scales[channel(i)];
    const double step =
        std::clamp(std::nearbyint(floats[i] / scale), static_cast<double>(q.qmin), static_cast<double>(q.qmax));
    steps[i] = static_cast<int8_t>(step);
    missing[i] = static_cast<float>(floats[i] - step * scale);
  }
  return {.coarse = std::move(coarse).freeze(), .fine = std::move(fine).freeze()};
}

}  // namespace

void add_fine_weights(ir::Graph& graph, const std::map<ir::ValueId, NodeScheme>& results) {
  if (results.empty()) return;
  std::vector<Node> nodes;
  for (Node& layer : graph.nodes) {
    const ValueId sum = layer.outputs.empty() ? ValueId() : layer.outputs.front();
    const auto found = results.find(sum);
    if (found == results.end()) {
      nodes.push_back(std::move(layer));
      continue;
    }
    const WeightRole role = *weight_role_of(layer);
    const ValueId weight = layer.inputs[role.weight];
    auto [coarse, fine] = divided(graph[weight]);
    const auto [q, shape] = std::pair(graph[sum].quantization, graph[sum].shape);
    const auto result = [&](const char* part) {
      return graph.add_value(
          {.name = layer.name + part, .dtype = DType::kFp32, .shape = shape, .quantization = q, .constant = {}});
    };
    Node second = layer;
    second.inputs[role.weight] = graph.add_constant(graph[weight].name + "_fine", fine);
    graph[second.inputs[role.weight]].quantization =
        weight_parameters(fine, role.axis, found->second.weights, found->second.smallest_scale);
    if (role.bias < second.inputs.size()) second.inputs[role.bias] = ValueId();
    graph[weight].constant = std::move(coarse);
    layer.outputs = {result("_coarse")};
    second.outputs = {result("_fine")};
    Node add{.op = AtenOp::add_Tensor,
             .name = layer.name,
             .inputs = {layer.outputs.front(), second.outputs.front()},
             .outputs = {sum},
             .attributes = {{"alpha", int64_t{1}}},
             .source = layer.source,
             .origin = layer.origin};
    nodes.push_back(std::move(layer));
    nodes.push_back(std::move(second));
    nodes.push_back(std::move(add));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace carina::quantize
