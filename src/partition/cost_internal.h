#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace carina::partition {

// What a node takes on the CPU: cycles of a Cortex-M55, an estimate (facts/cpu_costs.h). Saturates.
int64_t cpu_cycles_of(const ir::Graph& graph, const ir::Node& node);

// What a value takes on its way between floats and integers, on the CPU.
int64_t qdq_cycles_of(const ir::Value& value);

}  // namespace carina::partition
