#pragma once

#include <cstdint>

#include "ir/graph.h"
#include "partition/partition.h"

namespace carina::partition {

// Returns the estimated cycles of a node on a Cortex-M55 (facts/cpu_costs.h). With kInt8, nodes that make int8 cost
// what their int8 kernel takes. Saturates.
int64_t cpu_cycles_of(const ir::Graph& graph, const ir::Node& node, CpuArithmetic arithmetic = CpuArithmetic::kFloats);

// Returns the estimated CPU cycles of a node that quantizes or dequantizes a value.
int64_t qdq_cycles_of(const ir::Value& value, AtenOp op);

}  // namespace carina::partition
