#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "quantize/annotate/annotation.h"

namespace carina::quantize {

// A node of the user's graph, and the simple nodes that replace it. The inputs and constants of `graph` have the names
// of the node's operands; its outputs are the node's results, in order.
struct Expansion {
  std::string node;
  ir::Graph graph;
};

// Returns the expansions of two kinds of nodes: nodes with inner values that need their own parameters (softmax,
// layer_norm ...), because observers can only be put between nodes; and nodes whose weights would be treated as
// activations (prelu). Nodes that stay float and nodes that cannot be normalized are not expanded.
std::vector<Expansion> expansions(const ir::Graph& graph, const NodeSchemes& schemes);

}  // namespace carina::quantize
