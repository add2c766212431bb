// What:   nodes with the same operator, operands and attributes are merged.
// Before: %a = TRANSPOSE(%x) {[0,2,3,1]}; %b = TRANSPOSE(%x) {[0,2,3,1]}; %c = CONV2D(%a, ...); %d = CONV2D(%b, ...)
// After:  %a = TRANSPOSE(%x) {[0,2,3,1]}; %c = CONV2D(%a, ...); %d = CONV2D(%a, ...)
// Needs:  equal constants are one value, as the emitter makes them.
// Gives:  each value is computed once, except widening RESCALEs.
// Legal:  operators without state are functions of their operands and attributes.

#include <map>

#include "lower/tosa_passes/aliases_internal.h"
#include "lower/tosa_passes/passes.h"

namespace carina::lower {

using ir::Node;
using ir::ValueId;

namespace {

// The NPU fuses a widening RESCALE with the addition after it if the addition is its only reader. So such a RESCALE is
// not merged.
bool stays_apart(const ir::Graph& graph, const Node& node) {
  if (node.op != ir::Op(TosaOp::RESCALE)) return false;
  return element_bytes(graph[node.outputs[0]].dtype) > element_bytes(graph[node.inputs[0]].dtype);
}

}  // namespace

Result<void> merge_duplicates(ir::Graph& graph, const Log&) {
  Aliases aliases(graph);
  std::map<std::pair<ir::Op, std::vector<ValueId>>, std::vector<size_t>> seen;
  std::vector<Node> nodes = std::exchange(graph.nodes, {});
  for (Node& node : nodes) {
    for (ValueId& input : node.inputs) input = aliases(input);
    auto& candidates = seen[{node.op, node.inputs}];
    bool merged = false;
    for (const size_t candidate : stays_apart(graph, node) ? std::vector<size_t>() : candidates) {
      const Node& other = graph.nodes[candidate];
      const ir::Value& a = graph[node.outputs[0]];
      const ir::Value& b = graph[other.outputs[0]];
      if (other.attributes != node.attributes || a.dtype != b.dtype || a.shape != b.shape) continue;
      if (!aliases.may_replace(node.outputs[0], other.outputs[0])) continue;
      aliases.replace(node.outputs[0], other.outputs[0]);
      merged = true;
      break;
    }
    if (merged) continue;
    candidates.push_back(graph.nodes.size());
    graph.add_node(std::move(node));
  }
  ir::remove_dead(graph);
  return {};
}

}  // namespace carina::lower
