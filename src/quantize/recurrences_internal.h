#pragma once

#include <vector>

#include "base/union_find.h"
#include "ir/graph.h"

namespace carina::quantize {

// Joins the operands, and the results, of a function at all steps of an unrolled recurrence. Nodes that are left float
// are none of its steps.
void join_steps_of_recurrences(const ir::Graph& graph, const std::vector<bool>& left_float, UnionFind& groups);

}  // namespace carina::quantize
