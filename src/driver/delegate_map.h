#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"
#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "driver/split.h"

namespace carina::driver {

// Where a node of the user's own graph goes when somebody else cuts that graph.
struct NodeAssignment {
  std::string name;
  std::string op;
  std::string source;  // "model.py:41", may be empty
  int delegate = -1;   // -1: the CPU
  std::string reason;  // why not into a delegate; empty where there is nothing to say
  std::string hint;
};

// Maps the nodes of a .pt2 to delegates, so that each set of nodes can be cut out as it is: without a cycle, and compiled
// as a whole. A node of which only parts could go stays on the CPU. Nodes that come to nothing go with their neighbors;
// a quantize node goes with what makes its operand, a dequantize node with what reads its result, so that integers pass
// between delegates and the CPU. Errors: as delegate_graph()'s; a model that cannot be read or normalized.
Result<std::vector<NodeAssignment>> map_delegates(const Buffer& pt2, const std::string& where,
                                                  const backends::Backend& backend, const SplitOptions& split,
                                                  const backends::DelegateOptions& options, const Log& log);

}  // namespace carina::driver
