#pragma once

#include <vector>

#include "ir/graph.h"

// Groups nodes for the NPU without cycles between groups.
//   Example: a -> b -> c, where only a and c may run on the NPU, and a -> c: one group {a, c} would wait for b, which
//   waits for a. So a and c are two groups.
namespace carina::partition {

inline constexpr int kOnCpu = -1;

// Assigns the nodes that may run on the NPU (`eligible`, per node) to few groups without a cycle: no path leaves a
// group and returns to it. Returns the group of each node: kOnCpu, or numbers from 0 in the order of the
// groups' first nodes.
std::vector<int> group_nodes(const ir::Graph& graph, const std::vector<bool>& eligible);

// Returns the nodes in an order in which each group is contiguous and every value is produced before it is read. The
// order is stable.
std::vector<std::vector<size_t>> ordered_groups(const ir::Graph& graph, const std::vector<int>& group_of);

}  // namespace carina::partition
