#pragma once

#include <string>

#include "ir/graph.h"

namespace carina::ir {

// The reason why a node does not run on the NPU, as data. No code parses it from a message.
struct Rejection {
  NodeId node = {};
  std::string rule;    // short and stable, for tests and JSON: "conv.stride", "types.not-quantized", "npu"
  std::string reason;  // "stride_y is 5, at most 3 is supported"
  std::string hint;    // what would make it run on the NPU; may be empty
};

}  // namespace carina::ir
