// What:   of nodes that compute the same from the same, one remains.
// Before: %a = RESCALE(%x, %m, %s, %zi, %zo); %b = RESCALE(%x, %m, %s, %zi, %zo); %c = ADD(%a, %b)
// After:  %a = RESCALE(%x, %m, %s, %zi, %zo); %c = ADD(%a, %a)
// Needs:  equal constants to be one value, as the emitter makes them.
// Gives:  each value computed once.
// Legal:  operators without state are functions of their operands and attributes.

#include <map>

#include "lower/tosa_passes/aliases_internal.h"
#include "lower/tosa_passes/passes_internal.h"

namespace carina::lower {

using ir::Node;
using ir::ValueId;

Result<void> merge_duplicates(ir::Graph& graph, const Log&) {
  Aliases aliases(graph);
  std::map<std::pair<ir::Op, std::vector<ValueId>>, std::vector<size_t>> seen;
  std::vector<Node> nodes = std::exchange(graph.nodes, {});
  for (Node& node : nodes) {
    for (ValueId& input : node.inputs) input = aliases(input);
    auto& candidates = seen[{node.op, node.inputs}];
    bool merged = false;
    for (const size_t candidate : candidates) {
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
