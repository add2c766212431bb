#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "carina/scheme.h"
#include "ir/graph.h"
#include "ir/user_module.h"

namespace carina::quantize {

// A node of the user's model, for overrides by its name. ir::Node::origin is the node from which a graph node was made.
struct UserNode {
  std::string name;
  std::string op;
  std::vector<ir::UserModule> modules;  // from the outermost module to the innermost
};

// The ends of a range.
struct Limits {
  double min = 0;
  double max = 0;
};

// The scheme of each node, of the graph inputs and of the graph outputs, with the rank of its source: 0 for the general
// scheme, 1 and more for the overrides in their order.
struct Ranked {
  std::optional<NodeScheme> scheme;  // no value: left float
  size_t rank = 0;
};

// The nodes of an override as parse_override() reads them: "node:conv2d", "inputs".
std::string spec_of(const Override& override);

// Why a scheme leaves nodes float: by Node::origin, with what would quantize them. Example: "grid_sampler stays float,
// because 8 bits do not resolve its coordinates; --quantize-at op:grid_sampler=int16x8 quantizes it".
std::map<size_t, std::string> left_float_by(const Scheme& scheme, const ir::Graph& graph,
                                            std::span<const UserNode> user_nodes);

class SchemeOf {
 public:
  // Errors, all at once: an override of nodes that the model does not have (usage); a scheme that no lowering supports.
  static Result<SchemeOf> create(const ir::Graph& graph, const Scheme& scheme, std::span<const UserNode> user_nodes);

  [[nodiscard]] size_t nodes() const { return nodes_.size(); }
  [[nodiscard]] const Ranked& node(size_t index) const { return nodes_[index]; }
  [[nodiscard]] bool is_left_float(size_t index) const { return !nodes_[index].scheme; }
  void leave_float(size_t index) { nodes_[index].scheme.reset(); }
  [[nodiscard]] const Ranked& inputs() const { return inputs_; }
  [[nodiscard]] const Ranked& outputs() const { return outputs_; }
  [[nodiscard]] const Ranked& state(size_t index) const { return states_[index]; }
  [[nodiscard]] const NodeScheme& general() const { return *general_.scheme; }

 private:
  std::vector<Ranked> nodes_;
  std::vector<Ranked> states_;
  Ranked inputs_;
  Ranked outputs_;
  Ranked general_;
};

}  // namespace carina::quantize
