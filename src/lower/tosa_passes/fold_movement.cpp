// What:   reshapes and transpositions without effect are removed, and consecutive reshapes and slices are merged.
// Before: %a = TRANSPOSE(%x [1,1,49,10]) {[0,2,3,1]}; %b = RESHAPE(%a); %c = RESHAPE(%b)
// After:  %c = RESHAPE(%x)
// Needs:  nothing.
// Gives:  no identity RESHAPE, no RESHAPE of a RESHAPE, no TRANSPOSE that moves only axes of size 1, no SLICE that only
//         another SLICE reads. A slice with more readers stays, because its operand may be large.
// Legal:  a reshape depends only on the order of the elements, which axes of size 1 do not affect. A slice of a slice
//         begins at the sum of both starts.

#include "ir/emitter.h"
#include "lower/tosa_passes/aliases_internal.h"
#include "lower/tosa_passes/passes.h"
#include "tensor/elements.h"
#include "tensor/permutation.h"

#include <algorithm>
#include <functional>
#include <map>

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

// What a slice reads, and where it begins.
struct Origin {
  ValueId value;
  std::vector<int64_t> starts;
};

// Lets a SLICE read what the SLICE before it reads, if that is in `origins`. Returns what it reads then.
Origin merge_slice(const ir::Graph& graph, ir::Emitter& out, Node& node, const std::map<ValueId, Origin>& origins) {
  Origin origin{.value = node.inputs[0], .starts = integers_of(*graph[node.inputs[1]].constant)};
  const auto before = origins.find(origin.value);
  if (before == origins.end()) return origin;
  origin.value = before->second.value;
  std::ranges::transform(origin.starts, before->second.starts, origin.starts.begin(), std::plus());
  node.inputs[0] = origin.value;
  node.inputs[1] = out.shape_constant(origin.starts);
  return origin;
}

}  // namespace

Result<void> fold_movement(ir::Graph& graph, const Log&) {
  ir::Emitter out(graph);
  Aliases aliases(graph);
  std::map<ValueId, ValueId> reshaped_from;
  std::map<ValueId, Origin> sliced_from;  // slices that only one node reads
  const std::vector<std::vector<ir::NodeId>> users = ir::users(graph);
  const std::vector<bool> is_output = ir::is_output(graph);
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
    if (node.op == ir::Op(TosaOp::SLICE)) {
      Origin origin = merge_slice(graph, out, node, sliced_from);
      if (users[output.index()].size() == 1 && !is_output[output.index()])
        sliced_from.emplace(output, std::move(origin));
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
