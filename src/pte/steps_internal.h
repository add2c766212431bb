#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "pte/program.h"

namespace carina::pte {

// Memory that a kernel needs while it runs. It is planned together with the program's tensors.
struct Scratch {
  int64_t bytes = 0;
};

using CallArgument = std::variant<None, bool, int64_t, double, std::vector<int64_t>, ir::ValueId, Scratch>;

// A call of a kernel that no graph node represents. It writes `output`.
struct IntegerCall {
  std::string_view name;  // "cortex_m::quantized_add"; the overload is "out"
  std::vector<CallArgument> arguments;
  ir::ValueId output;
};

// One step of a program: a node, which calls its kernel or delegate, or a kernel call that replaces several nodes.
using Step = std::variant<ir::NodeId, IntegerCall>;
struct Steps {
  ir::Graph graph;  // the given graph, plus the values (and the nodes that move them) that the steps also need
  std::vector<Step> steps;
};

// Returns the steps of a graph with one step per node.
Steps node_steps(const ir::Graph& graph);

// Returns the steps of a graph in which integer kernels replace dequantize - operator - quantize sequences of int8. The
// kernels are those of ExecuTorch's Cortex-M backend. Sequences without such a kernel stay unchanged. Constants need
// their `quantization`. Multipliers, tables and layouts are those of that backend's passes. Source:
// executorch/backends/cortex_m/passes.
Steps integer_steps(const ir::Graph& graph);

}  // namespace carina::pte
