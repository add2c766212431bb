#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "ir/graph.h"
#include "lower/target.h"

namespace carina::legalize {

// The rewrite that made a node legal on the target.
struct Legalized {
  std::string node;  // its name
  std::string source;
  std::string rule;    // that kept it off: ir::Refusal::rule
  std::string reason;  // in words
  std::string change;  // "its places in channels, with a stride of 1"
};

// Rewrites nodes that the target refuses into nodes that it takes, where no number changes: quantization stays, integers
// are added and rounded as before. `graph`: prepared and quantized as a whole; its values keep names and types. Returns
// what was done, in the order of the nodes. Errors: none that a valid graph meets.
Result<std::vector<Legalized>> legalize(ir::Graph& graph, const lower::Target& target);

}  // namespace carina::legalize
