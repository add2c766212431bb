#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "quantize/annotate/annotation.h"

namespace carina::quantize {

// A node of the user's graph as the simple ones that are computed in its place. `graph` reads the node's operands, which
// are inputs or constants by their names, and gives its results in order.
struct Expansion {
  std::string node;
  ir::Graph graph;
};

// The nodes that have values within which need parameters of their own (softmax, layer_norm ...): observers can be put
// between the parts only; and those whose weights would be taken for activations (prelu). Nodes that are left float, and
// those that cannot be normalized, stay whole.
std::vector<Expansion> expansions(const ir::Graph& graph, const NodeSchemes& schemes);

}  // namespace carina::quantize
