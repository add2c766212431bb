#pragma once

#include <vector>

#include "ir/graph.h"

namespace carina::quantize {

// Which nodes keep computing in float, and which values therefore get quantization parameters.
struct LeftFloat {
  std::vector<bool> nodes;
  std::vector<bool> quantized;  // per value: somebody reads or makes it as integers
};

// What a graph takes and gives.
enum class Ends { kFloat, kQuantized };

// Nodes that only the CPU's kernels run stay float, and so do those that merely move data from such nodes or the
// graph's inputs to such nodes or the graph's outputs, where those are float: integers would only lose precision there.
LeftFloat left_float(const ir::Graph& graph, const std::vector<bool>& on_kernels, Ends ends = Ends::kFloat);

}  // namespace carina::quantize
