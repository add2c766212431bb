// Maps operators of a TOSA graph to the nodes of the user's model.
#pragma once

#include <string>

#include "ir/graph.h"
#include "models/import.h"

namespace carina::driver {

// Returns the name of the user's node from which a node of a delegate's TOSA graph was made; "" for none.
std::string user_node_of(const models::Model& model, const ir::Node& node);

// Returns the origins of a delegate's operators as JSON, for --dump. Each operator, in the graph's order, has "op",
// "result" (the name of its first result), "node" (the user's node from which it was made; "" for none) and "source"
// ("model.py:41").
std::string operators_json(const models::Model& model, const ir::Graph& tosa);

}  // namespace carina::driver
