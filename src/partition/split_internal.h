#pragma once

#include <vector>

#include "ir/graph.h"
#include "partition/partition.h"

namespace carina::partition {

// Divides a graph by `group_of`, the result of group_nodes(), into a program and delegates. `annotated` is the same
// graph after ir::propagate_quantization; its parameters are used inside delegates.
Partitioned split(const ir::Graph& graph, const ir::Graph& annotated, const std::vector<int>& group_of);

}  // namespace carina::partition
