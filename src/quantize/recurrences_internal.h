#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/union_find.h"
#include "ir/graph.h"
#include "tensor/quantization.h"

namespace carina::quantize {

// Joins the operands, and the results, of each gate at all steps of an unrolled recurrence: of a function of sums of
// products. So with these products. Nodes that are left float are none of its steps.
void join_gates_of_recurrences(const ir::Graph& graph, const std::vector<bool>& left_float, UnionFind& groups);

// Sharing::layer_of.
std::vector<size_t> layers_of(const ir::Graph& graph, const std::vector<bool>& left_float,
                              std::span<const size_t> group_of);

// Gives the state of a recurrence the same parameters at all steps, those with the widest range, where a function that
// saturates reads it, and integers have 16 bits; and so the function's results. `group_of`: by value; `parameters`: by
// group.
void widen_states_of_recurrences(const ir::Graph& graph, std::span<const size_t> group_of,
                                 std::span<std::optional<Quantization>> parameters);

}  // namespace carina::quantize
