#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "carina/scheme.h"
#include "ir/graph.h"
#include "ir/user_module.h"

namespace carina::quantize {

// A node of the user's model, for overrides that name such; ir::Node::origin says which one a node was made from.
struct UserNode {
  std::string name;
  std::string op;
  std::vector<ir::UserModule> modules;  // from the outermost to the one that calls it
};

// The scheme of each node, graph input and graph output of a graph, with the rank of what said so: 0 for the general
// one; more for overrides, the later the more.
struct Ranked {
  std::optional<NodeScheme> scheme;  // none: left float
  size_t rank = 0;
};

class SchemeOf {
 public:
  // Errors, all in one go: an override of what the model does not have (usage); a scheme that no lowering takes.
  static Result<SchemeOf> create(const ir::Graph& graph, const Scheme& scheme, std::span<const UserNode> user_nodes);

  [[nodiscard]] size_t nodes() const { return nodes_.size(); }
  [[nodiscard]] const Ranked& node(size_t index) const { return nodes_[index]; }
  [[nodiscard]] bool is_left_float(size_t index) const { return !nodes_[index].scheme; }
  void leave_float(size_t index) { nodes_[index].scheme.reset(); }
  [[nodiscard]] const Ranked& inputs() const { return inputs_; }
  [[nodiscard]] const Ranked& outputs() const { return outputs_; }
  [[nodiscard]] const NodeScheme& general() const { return *general_.scheme; }

 private:
  std::vector<Ranked> nodes_;
  Ranked inputs_;
  Ranked outputs_;
  Ranked general_;
};

}  // namespace carina::quantize
