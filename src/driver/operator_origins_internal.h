#pragma once

#include <string>

#include "ir/graph.h"
#include "models/import.h"

namespace carina::driver {

// The user's node that a node of a delegate's TOSA graph was made for; "" for none.
std::string user_node_of(const models::Model& model, const ir::Node& node);

// For --dump, as JSON: for each operator of a delegate's TOSA graph, in its order, "op", "result" (the name of its first
// result), "node" (the user's node that it was made for; "" for none) and "source" ("model.py:41").
std::string operators_json(const models::Model& model, const ir::Graph& tosa);

}  // namespace carina::driver
