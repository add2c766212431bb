#pragma once

#include <vector>

#include "backends/backend.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "driver/split.h"
#include "ir/graph.h"

namespace carina::driver {

// A split whose delegates are compiled; delegates[i] is made from split.tosa[i].
struct Delegated {
  Split split;
  std::vector<backends::Delegate> delegates;
};

// What was made of a prepared graph holds its weights rounded, or will read them once more: the pages of a mapped model
// leave the process's memory until then.
void drop_weights(const ir::Graph& prepared);

// Compiles the delegates of a split. Errors: the backend's.
Result<Delegated> compile_delegates(Split split, const backends::Backend& backend,
                                    const backends::DelegateOptions& options, const Log& log);

// Splits a prepared graph and compiles its delegates. A node that partitioning gave to the NPU and that lowering or the
// backend refuses goes to the CPU, with the reason and hint. Errors: of split_graph(); of the backend where they are not about nodes.
Result<Delegated> delegate_graph(const ir::Graph& prepared, const backends::Backend& backend,
                                 const SplitOptions& choices, const backends::DelegateOptions& options, const Log& log);

}  // namespace carina::driver
