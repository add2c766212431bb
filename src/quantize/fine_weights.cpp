#include "quantize/fine_weights_internal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  const auto low = static_cast<double>(q.qmin), high = static_cast<double>(q.qmax);
  const size_t run = channel.run(floats.size());
  for (size_t first = 0; first < floats.size(); first += run) {
    const double scale = q.scales[channel(first)];
    for (size_t i = first; i < std::min(first + run, floats.size()); ++i) {
      const double step = std::clamp(std::nearbyint(floats[i] / scale), low, high);
      steps[i] = static_cast<int8_t>(step);
      missing[i] = static_cast<float>(floats[i] - step * scale);
    }
  }
  return {.coarse = std::move(coarse).freeze(), .fine = std::move(fine).freeze()};
}

}  // namespace

void add_fine_weights(ir::Graph& graph, const FineLayers& layers, const Log& log) {
  if (layers.empty()) return;
  std::vector<Node> nodes;
  std::vector<std::string> narrow;
  for (Node& layer : graph.nodes) {
    const ValueId sum = layer.outputs.empty() ? ValueId() : layer.outputs.front();
    const auto found = layers.find(sum);
    const bool is_narrow = found != layers.end() && graph[sum].quantization->dtype != DType::kInt16;
    if (is_narrow) narrow.push_back(layer.name);
    if (found == layers.end() || is_narrow) {
      nodes.push_back(std::move(layer));
      continue;
    }
    const NodeScheme& scheme = found->second;
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
    graph[second.inputs[role.weight]].quantization = weight_parameters(
        fine, role.axis, weight_scheme_for(*graph[layer.inputs.front()].quantization, *q, scheme.weights),
        scheme.smallest_scale);
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
  if (narrow.empty()) return;
  log.note({.where = fmt::format("{}", fmt::join(narrow, ", ")),
            .what = "weights of 16 bits bring nothing to a result of 8 bits: they have 8",
            .hint = "give the result 16 bits, too (--quantize-at)",
            .severity = Severity::kWarning});
}

}  // namespace carina::quantize
