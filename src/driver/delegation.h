// Declares the functions that compile the delegates of a partitioned graph.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "carina/log.h"
#include "carina/result.h"
#include "driver/split.h"
#include "ir/graph.h"

namespace carina::driver {

// A partitioned graph with compiled delegates; delegates[i] is compiled from split.tosa[i].
struct Delegated {
  Split split;
  std::vector<backends::Delegate> delegates;
};

// Releases the mapped weight pages of the normalized graph from the process's memory. The results hold their own,
// rounded weights; if a weight is needed again, its pages are read again from the file.
void drop_weights(const ir::Graph& normalized);

// Compiles the delegates of a split. Errors: the backend's.
Result<Delegated> compile_delegates(Split split, const backends::Backend& backend,
                                    const backends::DelegateOptions& options, const Log& log);

// Partitions a normalized graph and compiles its delegates. A node that partitioning assigned to the NPU and that
// lowering or the backend rejects runs on the CPU, with the reason and a hint. Errors: those of split_graph(); those of
// the backend that name no node.
Result<Delegated> delegate_graph(const ir::Graph& normalized, const backends::Backend& backend,
                                 const SplitOptions& choices, const backends::DelegateOptions& options, const Log& log);

}  // namespace carina::driver
