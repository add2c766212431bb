#pragma once

#include <vector>

#include "models/import.h"
#include "quantize/scheme.h"

namespace carina::models {

// The nodes of the user's model, for overrides that name them.
std::vector<quantize::UserNode> user_nodes_of(const Model& model);

}  // namespace carina::models
