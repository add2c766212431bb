// What:   reshapes and transpositions without effect are removed, and consecutive ones are merged.
// Before: %a = TRANSPOSE(%x [1,1,49,10]) {[0,2,3,1]}; %b = RESHAPE(%a); %c = RESHAPE(%b)
// After:  %c = RESHAPE(%x)
// Needs:  nothing.
// Gives:  no identity RESHAPE, no RESHAPE of a RESHAPE, no TRANSPOSE that moves only axes of size 1.
// Legal:  a reshape depends only on the order of the elements, which axes of size 1 do not affect.

#include "ir/emitter.h"
#include "lower/tosa_passes/aliases_internal.h"
#include "lower/tosa_passes/passes.h"
#include "tensor/permutation.h"

#include <map>

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

}  // namespace

Result<void> fold_movement(ir::Graph& graph, const Log&) {
  ir::Emitter out(graph);
  Aliases aliases(graph);
  std::map<ValueId, ValueId> reshaped_from;
  std::vector<Node> nodes = std::exchange(graph.nodes, {});
  for (Node& node : nodes) {
    for (ValueId& input : node.inputs) input = aliases(input);
    const ValueId output = node.outputs[0];
    if (node.op == ir::Op(TosaOp::TRANSPOSE) &&
        keeps_element_order(graph[node.inputs[0]].shape, node.attributes.integers("perms"))) {
      node.op = TosaOp::RESHAPE;
      node.attributes = {};
      node.inputs.push_back(out.shape_constant(graph[output].shape.dims()));
    }
    if (node.op == ir::Op(TosaOp::RESHAPE)) {
      if (const auto from = reshaped_from.find(node.inputs[0]); from != reshaped_from.end())
        node.inputs[0] = from->second;
      reshaped_from[output] = node.inputs[0];
      if (graph[node.inputs[0]].shape == graph[output].shape && aliases.may_replace(output, node.inputs[0])) {
        aliases.replace(output, node.inputs[0]);
        continue;
      }
    }
    graph.add_node(std::move(node));
  }
  ir::remove_dead(graph);
  return {};
}

}  // namespace carina::lower
