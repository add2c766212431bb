#include <algorithm>

#include "facts/aten_traits.h"
#include "quantize/left_float.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool is_data_movement(const Node& node) {
  return node.op.is_aten() && is_data_movement(node.op.aten());
}

// Adds the data-movement nodes without a neighbor that computes with integers.
void add_movers(const ir::Graph& graph, std::vector<bool>& left, Ends ends) {
  const std::vector<NodeId> producers = ir::producers(graph);
  const std::vector<std::vector<NodeId>> users = ir::users(graph);
  std::vector<bool> candidates = left;
  for (size_t n = 0; n < graph.nodes.size(); ++n) candidates[n] = left[n] || is_data_movement(graph.nodes[n]);
  const std::vector<bool> is_output = ir::is_output(graph);
  const bool float_ends = ends == Ends::kFloat;
  const auto is_float = [&](NodeId id) { return candidates[id.index()]; };
  const auto is_made_as_float = [&](ValueId id) {
    const NodeId producer = producers[id.index()];
    return producer.valid() ? is_float(producer) : float_ends || graph[id].constant;
  };
  const auto stays = [&](const Node& node) {
    return std::ranges::all_of(node.inputs, [&](ValueId id) { return !id.valid() || is_made_as_float(id); }) &&
           std::ranges::all_of(node.outputs, [&](ValueId id) {
             return !id.valid() ||
                    ((float_ends || !is_output[id.index()]) && std::ranges::all_of(users[id.index()], is_float));
           });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (left[n] || !candidates[n] || stays(graph.nodes[n])) continue;
      candidates[n] = false;
      changed = true;
    }
  }
  left = std::move(candidates);
}

// Returns whether the value is a constant operand of a comparison, which the lowering quantizes. It has no parameters
// and does not widen any range.
bool quantized_by_lowering(const ir::Graph& graph, const Node& node, ValueId id) {
  return graph[id].constant && node.op.is_aten() &&
         traits_of(node.op.aten()).quantization == AtenQuantization::kOperands;
}

std::vector<bool> quantized_values(const ir::Graph& graph, const std::vector<bool>& left) {
  std::vector<bool> touched_by_float(graph.values.size(), false), touched_by_integers(graph.values.size(), false);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const std::vector<ValueId>* ids : {&graph.nodes[n].inputs, &graph.nodes[n].outputs}) {
      for (const ValueId id : *ids) {
        if (!id.valid()) continue;
        (left[n] || quantized_by_lowering(graph, graph.nodes[n], id) ? touched_by_float
                                                                     : touched_by_integers)[id.index()] = true;
      }
    }
  }
  std::vector<bool> quantized(graph.values.size());
  for (size_t v = 0; v < quantized.size(); ++v)
    quantized[v] = graph.values[v].dtype == DType::kFp32 && (touched_by_integers[v] || !touched_by_float[v]);
  return quantized;
}

}  // namespace

LeftFloat left_float(const ir::Graph& graph, const std::vector<bool>& on_kernels, Ends ends) {
  LeftFloat result{.nodes = on_kernels, .quantized = {}};
  if (std::ranges::find(on_kernels, true) != on_kernels.end()) add_movers(graph, result.nodes, ends);
  result.quantized = quantized_values(graph, result.nodes);
  return result;
}

}  // namespace carina::quantize
