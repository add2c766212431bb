#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "driver/backend.h"
#include "ir/graph.h"
#include "partition/partition.h"

namespace carina::driver {

enum class DelegateMode { kNpu, kNothing };

// What the user keeps on the CPU.
struct SplitOptions {
  DelegateMode delegates = DelegateMode::kNpu;
  std::vector<std::string> cpu_nodes;
};

// A model cut into a program for the CPU and TOSA graphs for the backend, one per delegate.
struct Split {
  partition::Partitioned partitioned;
  std::vector<ir::Graph> tosa;
};

// Cuts a prepared graph and lowers both sides: the program to operators that have a kernel, delegates to TOSA. Nodes
// of `refused` (by name, with the reason) stay on the CPU. Errors: names that the graph does not have (usage); nodes
// that do not lower.
Result<Split> split_graph(const ir::Graph& prepared, const Backend& backend, const SplitOptions& options,
                          const std::map<std::string, std::string>& refused, const Log& log);

// A TOSA graph as a program: one call of one delegate, its inputs and outputs as they are.
Split whole_graph_delegated(ir::Graph tosa);

}  // namespace carina::driver
