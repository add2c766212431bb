// Declares the step that partitions a normalized graph between CPU and NPU and lowers both sides.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "carina/log.h"
#include "carina/options.h"
#include "carina/result.h"
#include "ir/graph.h"
#include "ir/pass.h"
#include "partition/partition.h"

namespace carina::driver {

using options::DelegateMode;

class SplitCache;

// The nodes that the user keeps on the CPU, and the options of the partition.
struct SplitOptions : options::PartitionOptions {
  partition::UserConstraint keep = {};  // the nodes of cpu_modules and cpu_ops in the user's model (with_user_nodes())
  std::vector<std::string> made_ops = {};         // of cpu_ops: operators that only the passes of normalize() have made
  std::map<size_t, std::string> left_float = {};  // models::Model::left_float; `origin` of nodes is the key
  partition::FloatsOnCpu floats = partition::FloatsOnCpu::kRounded;
  partition::CpuArithmetic arithmetic = partition::CpuArithmetic::kFloats;
  ir::PassOptions passes = {};  // for the clean-up after lowering
  SplitCache* cache = nullptr;  // partitions of the same graph for other targets; nullptr: not used
};

// A model partitioned into a program for the CPU and one TOSA graph per delegate for the backend.
struct Split {
  partition::Partitioned partitioned;
  std::vector<ir::Graph> tosa;  // nodes have the normalized graph's nodes as `origin`
};

// Partitions a normalized graph and lowers both sides: the program to operators that have a CPU kernel, the delegates
// to TOSA. Nodes of `rejected` stay on the CPU with the given reasons. Errors: names that the graph does not have
// (usage); the nodes of all delegates that cannot be lowered. Diagnostic::node is a node of the normalized graph.
Result<Split> split_graph(const ir::Graph& normalized, const backends::Backend& backend, const SplitOptions& options,
                          const std::vector<ir::Rejection>& rejected, const Log& log);

// Replaces each node of `graph` in the diagnostics by the node that it was made from.
Diagnostics about_origins(Diagnostics errors, const ir::Graph& graph);

// Returns a TOSA graph as a program of one delegate call with the graph's inputs, outputs and state. `reason`: why the
// NPU runs a node.
Split whole_graph_delegated(ir::Graph tosa, std::string_view reason);

}  // namespace carina::driver
