#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "ir/graph.h"
#include "ir/pass.h"
#include "partition/partition.h"

namespace carina::driver {

enum class DelegateMode {
  kNpu,  // what is faster there
  kAll,  // also what costs more to call than it saves: subgraphs that only move data, or are small
  kNothing
};

class SplitCache;

// What the user keeps on the CPU.
struct SplitOptions {
  DelegateMode delegates = DelegateMode::kNpu;
  std::vector<std::string> cpu_nodes;
  std::vector<std::string> cpu_ops = {};      // "conv2d", "aten.conv2d.default"
  std::vector<std::string> cpu_modules = {};  // paths ("features.3", with all below) or types ("Conv2d")
  partition::UserConstraint keep = {};        // any other filter
  partition::FloatsOnCpu floats = partition::FloatsOnCpu::kRounded;
  ir::PassOptions passes = {};  // of the clean-up behind lowering
  SplitCache* cache = nullptr;  // splits of the same graph for other targets; nullptr: none
};

// A model cut into a program for the CPU and TOSA graphs for the backend, one per delegate.
struct Split {
  partition::Partitioned partitioned;
  std::vector<ir::Graph> tosa;  // nodes have the prepared graph's nodes as `origin`
};

// Cuts a prepared graph and lowers both sides: the program to operators that have a kernel, delegates to TOSA. Nodes
// of `refused` stay on the CPU, with its reasons. Errors: names that the graph does not have (usage); nodes of delegates
// that do not lower, of all delegates, each with Diagnostic::node in the prepared graph.
Result<Split> split_graph(const ir::Graph& prepared, const backends::Backend& backend, const SplitOptions& options,
                          const std::vector<ir::Refusal>& refused, const Log& log);

// What is said about nodes of `graph`, said about the nodes that they come from.
Diagnostics about_origins(Diagnostics errors, const ir::Graph& graph);

// A TOSA graph as a program: one call of one delegate, its inputs and outputs as they are.
Split whole_graph_delegated(ir::Graph tosa);

}  // namespace carina::driver
