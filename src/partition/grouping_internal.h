#pragma once

#include <vector>

#include "ir/graph.h"

namespace carina::partition {

inline constexpr int kOnCpu = -1;

// Puts the nodes that may run on the NPU into as few groups as possible without making a cycle: no path leaves a group
// and comes back. `eligible`: per node. Returns each node's group, kOnCpu or numbers from 0 in the order of the groups'
// first nodes.
std::vector<int> group_nodes(const ir::Graph& graph, const std::vector<bool>& eligible);

// The nodes in an order in which each group stands together and everything is made before it is read; stable.
std::vector<std::vector<size_t>> ordered_groups(const ir::Graph& graph, const std::vector<int>& group_of);

}  // namespace carina::partition
