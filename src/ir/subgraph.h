#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace carina::ir {

// A part of a graph as a separate graph, with the mapping of its values to the whole graph.
struct Subgraph {
  Graph graph;
  std::vector<ValueId> inputs;   // of the whole graph, in the order of graph.inputs
  std::vector<ValueId> outputs;  // likewise
  std::vector<ValueId> origin;   // per value of `graph`: the value of the whole one
};

// Returns the subgraph of the nodes `members`, which are in the graph's order. No node outside may both read a member's
// result and be read by a member. Inputs are the values that members read and do not produce; constants are copied;
// outputs are `outputs`. Names stay.
Subgraph subgraph_of(const Graph& graph, std::span<const NodeId> members, std::span<const ValueId> outputs);

}  // namespace carina::ir
