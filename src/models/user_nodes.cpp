#include "models/user_nodes.h"

namespace carina::models {

std::vector<quantize::UserNode> user_nodes_of(const Model& model) {
  std::vector<quantize::UserNode> nodes;
  for (const pt2::ModelNode& node : model.nodes)
    nodes.push_back({.name = node.name, .op = node.op, .modules = node.modules});
  return nodes;
}

}  // namespace carina::models
