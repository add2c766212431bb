#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace carina::ir {

// Part of a graph as a graph of its own, and what its values are called in the whole one.
struct Subgraph {
  Graph graph;
  std::vector<ValueId> inputs;   // of the whole graph, in the order of graph.inputs
  std::vector<ValueId> outputs;  // likewise
  std::vector<ValueId> origin;   // per value of `graph`: the value of the whole one
};

// The nodes `members` (in the order of the graph, none between them that reads one and is read by another). Its inputs
// are the values that its nodes read and do not make, constants come along, its outputs are `outputs`. Names stay.
Subgraph subgraph_of(const Graph& graph, std::span<const NodeId> members, std::span<const ValueId> outputs);

}  // namespace carina::ir
