// Rewrites nodes that a target rejects into equivalent nodes that it supports.
#pragma once

#include <string>
#include <vector>

#include "carina/result.h"
#include "ir/graph.h"
#include "lower/target.h"

namespace carina::legalize {

// The rewrite that made a node legal on the target.
struct Legalized {
  std::string node;  // its name
  std::string source;
  std::string rule;    // the rule that the node violated: ir::Rejection::rule
  std::string reason;  // in words
  std::string change;  // "its places in channels, with a stride of 1"
};

// Rewrites nodes that the target rejects into nodes that it supports, if no result changes: quantization, integer sums
// and rounding stay the same. `graph` is normalized and quantized as a whole; its values keep names and types. Returns
// the rewrites in the order of the nodes. Errors: none for a valid graph.
Result<std::vector<Legalized>> legalize(ir::Graph& graph, const lower::Target& target);

}  // namespace carina::legalize
