#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"
#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "driver/split.h"

namespace carina::driver {

// The assignment of a node of the user's graph to a delegate, for a caller that partitions that graph itself.
struct NodeAssignment {
  std::string name;
  std::string op;
  std::string source;  // "model.py:41", may be empty
  int delegate = -1;   // -1: the CPU
  std::string reason;  // the reason why the node is in no delegate; may be empty
  std::string hint;
};

// Maps the nodes of a .pt2 to delegates. The nodes of each delegate can be cut out as they are, without a cycle, and
// compiled as a whole. A node of which only parts could run on the NPU stays on the CPU. Nodes that produce no operator
// go with their neighbors: a quantize node with the producer of its operand, a dequantize node with the readers of its
// result. So integers pass between delegates and the CPU. Errors: those of delegate_graph(); a model that cannot be
// read or normalized.
Result<std::vector<NodeAssignment>> map_delegates(const Buffer& pt2, const std::string& where,
                                                  const backends::Backend& backend, const SplitOptions& split,
                                                  const backends::DelegateOptions& options, const Log& log);

}  // namespace carina::driver
