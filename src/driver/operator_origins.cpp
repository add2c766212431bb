#include "driver/operator_origins_internal.h"

#include <nlohmann/json.hpp>

namespace carina::driver {

std::string user_node_of(const models::Model& model, const ir::Node& node) {
  // The operators of a TOSA file have no user node.
  if (!node.origin.valid() || node.origin.index() >= model.graph.nodes.size()) return {};
  const ir::NodeId origin = model.graph[node.origin].origin;
  return origin.valid() && origin.index() < model.nodes.size() ? model.nodes[origin.index()].name : std::string();
}

std::string operators_json(const models::Model& model, const ir::Graph& tosa) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ir::Node& node : tosa.nodes) {
    rows.push_back({{"op", node.op.name()},
                    {"result", node.outputs.empty() ? "" : tosa[node.outputs.front()].name},
                    {"node", user_node_of(model, node)},
                    {"source", node.source}});
  }
  return rows.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace carina::driver
