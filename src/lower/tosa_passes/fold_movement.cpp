// What:   reshapes and transpositions without effect are removed, consecutive reshapes and slices are merged, and
//         slices of a CONCAT's parts read the parts.
// Before: %a = TRANSPOSE(%x [1,1,49,10]) {[0,2,3,1]}; %b = RESHAPE(%a); %c = RESHAPE(%b)
// After:  %c = RESHAPE(%x)
// Needs:  nothing.
// Gives:  no identity RESHAPE, no RESHAPE of a RESHAPE, no TRANSPOSE that moves only axes of size 1, no SLICE that only
//         another SLICE reads, no CONCAT of which only slices within its parts are read. A slice with more readers
//         stays, because its operand may be large. A ring that is written with roll() or with two slices becomes that
//         of cat(): %r = CONCAT(%ring[1:], %ring[:1]); %s = SLICE(%r[:48]); %n = CONCAT(%s, %x)
//         becomes  %n = CONCAT(%ring[1:], %x)
// Legal:  a reshape depends only on the order of the elements, which axes of size 1 do not affect. A slice of a slice
//         begins at the sum of both starts, and a slice of a part at its start less those of the parts before.

#include "ir/emitter.h"
#include "lower/tosa_passes/aliases_internal.h"
#include "lower/tosa_passes/passes.h"
#include "tensor/elements.h"
#include "tensor/permutation.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

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

// The part of a CONCAT that has all elements of a SLICE, and where the slice begins in it.
std::optional<Origin> part_of(const ir::Graph& graph, const Node& concat, const Node& slice) {
  const auto axis = static_cast<size_t>(concat.attributes.integer("axis"));
  Origin origin{.value = {}, .starts = integers_of(*graph[slice.inputs[1]].constant)};
  const int64_t size = graph[slice.outputs[0]].shape[axis];
  for (const ValueId part : concat.inputs) {
    const int64_t rows = graph[part].shape[axis];
    if (origin.starts[axis] < rows) {
      if (origin.starts[axis] + size > rows) return std::nullopt;
      origin.value = part;
      return origin;
    }
    origin.starts[axis] -= rows;
  }
  return std::nullopt;
}

// The CONCATs that only slices within their parts read, by their results.
std::map<ValueId, Node> concats_of_slices(const ir::Graph& graph, const std::vector<std::vector<ir::NodeId>>& users,
                                          const std::vector<bool>& is_output) {
  std::map<ValueId, Node> concats;
  for (const Node& node : graph.nodes) {
    if (node.op != ir::Op(TosaOp::CONCAT) || is_output[node.outputs[0].index()]) continue;
    const bool is_split = std::ranges::all_of(users[node.outputs[0].index()], [&](ir::NodeId user) {
      return graph[user].op == ir::Op(TosaOp::SLICE) && part_of(graph, node, graph[user]);
    });
    if (is_split) concats.emplace(node.outputs[0], node);
  }
  return concats;
}

}  // namespace

Result<void> fold_movement(ir::Graph& graph, const Log&) {
  ir::Emitter out(graph);
  Aliases aliases(graph);
  std::map<ValueId, ValueId> reshaped_from;
  std::map<ValueId, Origin> sliced_from;  // slices that only one node reads
  const std::vector<std::vector<ir::NodeId>> users = ir::users(graph);
  const std::vector<bool> is_output = ir::is_output(graph);
  const std::map<ValueId, Node> split = concats_of_slices(graph, users, is_output);
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
      if (const auto concat = split.find(node.inputs[0]); concat != split.end()) {
        Origin part = *part_of(graph, concat->second, node);
        part.value = aliases(part.value);
        node.inputs[0] = part.value;
        node.inputs[1] = out.shape_constant(part.starts);
        if (graph[part.value].shape == graph[output].shape && aliases.may_replace(output, part.value)) {
          aliases.replace(output, part.value);
          continue;
        }
      }
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
