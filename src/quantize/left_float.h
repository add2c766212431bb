#pragma once

#include <vector>

#include "ir/graph.h"

namespace carina::quantize {

// The nodes that compute in float, and the values that therefore get quantization parameters.
struct LeftFloat {
  std::vector<bool> nodes;
  std::vector<bool> quantized;  // per value: some node reads or writes it as integers
};

// The type of the graph's inputs and outputs.
enum class Ends { kFloat, kQuantized };

// Finds the nodes that stay float: nodes that only the CPU's kernels support, and nodes that only move data between
// such nodes, or float inputs and outputs of the graph. Integers would only lose precision there.
LeftFloat left_float(const ir::Graph& graph, const std::vector<bool>& on_kernels, Ends ends = Ends::kFloat);

}  // namespace carina::quantize
