#pragma once

#include <vector>

#include "ir/graph.h"
#include "partition/partition.h"

namespace carina::partition {

// Cuts a graph along `group_of` (group_nodes()) into a program and delegates; `spread` is the same graph after
// ir::propagate_quantization, whose parameters hold inside delegates.
Partitioned split(const ir::Graph& graph, const ir::Graph& annotated, const std::vector<int>& group_of);

}  // namespace carina::partition
