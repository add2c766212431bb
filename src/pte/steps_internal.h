#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "pte/program.h"

namespace carina::pte {

// Memory that a kernel needs while it runs, planned with the program's tensors.
struct Scratch {
  int64_t bytes = 0;
};

using CallArgument = std::variant<None, bool, int64_t, double, std::vector<int64_t>, ir::ValueId, Scratch>;

// The call of a kernel that is no node of the graph; it makes `output`.
struct IntegerCall {
  std::string_view name;  // "cortex_m::quantized_add"; the overload is "out"
  std::vector<CallArgument> arguments;
  ir::ValueId output;
};

// What a program does, one after another: nodes, each as the call of its kernel or delegate, and calls of other kernels
// in the place of several nodes.
using Step = std::variant<ir::NodeId, IntegerCall>;
struct Steps {
  ir::Graph graph;  // the given one, with values (and nodes that move them) for what the steps need beside it
  std::vector<Step> steps;
};

// Each node for itself.
Steps node_steps(const ir::Graph& graph);

// Where floats are only between a dequantize and a quantize node of int8, the call of an integer kernel of ExecuTorch's
// Cortex-M backend makes the integers from the integers; what has no such kernel stays as it is. Constants need their
// `quantization`. Multipliers, tables and layouts are those of that backend's passes. Source:
// executorch/backends/cortex_m/passes.
Steps integer_steps(const ir::Graph& graph);

}  // namespace carina::pte
