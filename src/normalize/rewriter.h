#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carina/result.h"
#include "ir/graph.h"

// Local rewrites of ATen nodes, which most passes of this library are made of.
//   Example: a row {kAddmm, rewrite} where rewrite emits mm and add turns addmm(c, a, b) into add(mm(a, b), c).
namespace carina::normalize {

class Rewriter;

// One local rewrite of ATen nodes. `rewrite` emits the replacement of the node and returns true, or emits nothing and
// returns false; then the node stays.
struct RewriteRow {
  AtenOp op;
  Result<bool> (*rewrite)(Rewriter& rewriter, const ir::Node& node);
};

// Concatenates the tables of a pass.
std::vector<RewriteRow> joined(std::initializer_list<std::span<const RewriteRow>> tables);

inline Result<bool> rewritten(Result<void> result) {
  if (!result) return std::unexpected(std::move(result).error());
  return true;
}

// A node and its source line for messages: "conv_7 (model.py:41)".
std::string where_of(const ir::Node& node);

// Rebuilds a graph node by node with a table of rewrites. Emitted nodes go through the table too, so rows compose
// without knowing each other: addmm -> mm -> bmm.
class Rewriter {
 public:
  // Nodes for which `keep` holds stay as they are.
  using Keep = bool (*)(const Rewriter& rewriter, const ir::Node& node);
  Rewriter(ir::Graph& graph, std::span<const RewriteRow> rows, Keep keep = nullptr);

  // Applies the table to every node and removes dead nodes. Errors: those of all rows, together.
  Result<void> run();
  // Calls the function with each node and its index in the old graph; it returns whether it has rewritten the node. The
  // table applies to the emitted nodes only.
  Result<void> run_each(const std::function<Result<bool>(const ir::Node& node, ir::NodeId id)>& rewrite);

  [[nodiscard]] const ir::Value& operator[](ir::ValueId id) const { return graph_[id]; }
  // Returns a copy, because values move when others are added.
  [[nodiscard]] Shape shape(ir::ValueId id) const { return graph_[id].shape; }
  // The number of nodes that read the value in the graph before the rewrite, plus one if it is a graph output.
  [[nodiscard]] size_t uses(ir::ValueId id) const { return id.index() < uses_.size() ? uses_[id.index()] : 1; }
  // The nodes that read the value, as ids of the old graph.
  [[nodiscard]] const std::vector<ir::NodeId>& readers(ir::ValueId id) const { return readers_[id.index()]; }
  [[nodiscard]] const ir::Node& old_node(ir::NodeId id) const { return old_nodes_[id.index()]; }

  // Adds a node that replaces the current one. Its result is a new value, named after the current node.
  ir::ValueId make(AtenOp op, std::vector<ir::ValueId> inputs, ir::Attributes attributes, const Shape& shape);
  // Like make(), for an element-wise operator of one operand.
  ir::ValueId unary(AtenOp op, ir::ValueId input) { return make(op, {input}, {}, shape(input)); }
  // Like make(), for a data-movement node: the result has the quantization of the first input.
  ir::ValueId move(AtenOp op, std::vector<ir::ValueId> inputs, ir::Attributes attributes, const Shape& shape);
  // Like make(), with the given type of the result.
  ir::ValueId make_value(AtenOp op, std::vector<ir::ValueId> inputs, ir::Attributes attributes, ir::Value result);
  // Adds a node that computes an existing value, usually the current node's output. The value keeps its name and
  // quantization.
  Result<void> define(ir::ValueId output, AtenOp op, std::vector<ir::ValueId> inputs, ir::Attributes attributes);
  // Adds a node whose outputs are values of the graph already.
  Result<void> emit(ir::Node node) { return apply(std::move(node)); }
  // Reshapes to `shape`. Returns the same value if it has that shape already.
  ir::ValueId view(ir::ValueId input, const Shape& shape);
  Result<void> view_into(ir::ValueId output, ir::ValueId input);
  // Adds a constant: a scalar (shape []) of the type of `like`, or a tensor.
  ir::ValueId scalar(double value, DType dtype);
  ir::ValueId constant(std::string_view name, Tensor tensor);
  // The constant that `make` gives of another constant. It is made once for each suffix of its name, so that the
  // readers of a weight still share one.
  ir::ValueId derived(ir::ValueId from, std::string_view suffix, Tensor (*make)(const Tensor& from));
  // Replaces every later use of `output` by `source`.
  void forward(ir::ValueId output, ir::ValueId source);
  // Marks a node as done, because an earlier rewrite has computed its outputs.
  void skip(ir::NodeId id) { skipped_[id.index()] = true; }

  ir::Graph& graph() { return graph_; }

 private:
  Result<void> apply(ir::Node node);
  ir::Node begin(size_t index);  // emitted nodes now belong to this node of the old graph
  Result<void> finish();
  void add_errors(Diagnostics errors);  // Diagnostic::node becomes the origin of the current node
  [[nodiscard]] ir::ValueId current(ir::ValueId id) const;

  ir::Graph& graph_;
  std::span<const RewriteRow> rows_;
  Keep keep_;
  std::vector<ir::Node> old_nodes_;
  std::vector<size_t> uses_;
  std::vector<std::vector<ir::NodeId>> readers_;
  std::vector<bool> skipped_;
  std::vector<ir::ValueId> forwarded_;
  std::map<std::pair<ir::ValueId, std::string>, ir::ValueId> derived_;
  std::string name_;  // name of the current node
  std::string source_;
  ir::NodeId origin_;
  Diagnostics errors_;
};

// A diagnostic about a node of the user's model.
Diagnostic about(const ir::Node& node, std::string what);

}  // namespace carina::normalize
