#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "ir/graph.h"

namespace carina::normalize {

class Rewriter;

// One local rewriting of ATen nodes. `rewrite` either emits what replaces the node and returns true, or emits nothing
// and returns false: the node stays.
struct RewriteRow {
  AtenOp op;
  Result<bool> (*rewrite)(Rewriter& rewriter, const ir::Node& node);
};

// The tables of a pass as one.
std::vector<RewriteRow> joined(std::initializer_list<std::span<const RewriteRow>> tables);

inline Result<bool> rewritten(Result<void> result) {
  if (!result) return std::unexpected(std::move(result).error());
  return true;
}

// "conv_7 (model.py:41)"
std::string where_of(const ir::Node& node);

// Rebuilds a graph node by node under a table of rewritings. What a rewriting emits goes through the table too, so rows
// compose (addmm -> mm -> bmm) and never have to know each other.
class Rewriter {
 public:
  // Nodes for which `keep` holds stay as they are.
  using Keep = bool (*)(const Rewriter& rewriter, const ir::Node& node);
  Rewriter(ir::Graph& graph, std::span<const RewriteRow> rows, Keep keep = nullptr);

  // Applies the table to every node and leaves the graph clean. Errors: those of all rows, in one go.
  Result<void> run();
  // Asks about each node, with its place in the old graph, whether it has been rewritten; the table is for what that
  // emits.
  Result<void> run_each(const std::function<Result<bool>(const ir::Node& node, ir::NodeId id)>& rewrite);

  [[nodiscard]] const ir::Value& operator[](ir::ValueId id) const { return graph_[id]; }
  // A copy: values move when others are added.
  [[nodiscard]] Shape shape(ir::ValueId id) const { return graph_[id].shape; }
  // How many nodes read the value in the graph as it was before the rewriting; graph outputs count as one more.
  [[nodiscard]] size_t uses(ir::ValueId id) const { return id.index() < uses_.size() ? uses_[id.index()] : 1; }
  // The nodes that read it, by their place in the old graph.
  [[nodiscard]] const std::vector<ir::NodeId>& readers(ir::ValueId id) const { return readers_[id.index()]; }
  [[nodiscard]] const ir::Node& old_node(ir::NodeId id) const { return old_nodes_[id.index()]; }

  // A new node in place of the current one; its result is a new value named after the current node.
  ir::ValueId make(AtenOp op, std::vector<ir::ValueId> inputs, ir::Attributes attributes, const Shape& shape);
  // The same for a node that only moves data: the result is quantized as the first input is.
  ir::ValueId move(AtenOp op, std::vector<ir::ValueId> inputs, ir::Attributes attributes, const Shape& shape);
  // The same, with a result of its own type.
  ir::ValueId make_value(AtenOp op, std::vector<ir::ValueId> inputs, ir::Attributes attributes, ir::Value result);
  // A new node that makes an existing value, usually the current node's output: name and quantization stay.
  Result<void> into(ir::ValueId output, AtenOp op, std::vector<ir::ValueId> inputs, ir::Attributes attributes);
  // A node with outputs that stand in the graph already.
  Result<void> emit(ir::Node node) { return apply(std::move(node)); }
  // Reshape to `shape` as a new value (or the same value when it has that shape).
  ir::ValueId view(ir::ValueId input, const Shape& shape);
  Result<void> view_into(ir::ValueId output, ir::ValueId input);
  // A scalar constant of the type of `like` (shape []), or any other constant.
  ir::ValueId scalar(double value, DType dtype);
  ir::ValueId constant(std::string_view name, Tensor tensor);
  // Every later use of `output` becomes a use of `source`.
  void forward(ir::ValueId output, ir::ValueId source);
  // Tells run() that the node needs nothing more: an earlier rewriting has already made its outputs.
  void skip(ir::NodeId id) { skipped_[id.index()] = true; }

  ir::Graph& graph() { return graph_; }

 private:
  Result<void> apply(ir::Node node);
  ir::Node begin(size_t index);  // what is emitted from now on belongs to this node of the old graph
  Result<void> finish();
  void add_errors(Diagnostics errors);  // of the current node: Diagnostic::node is its origin
  [[nodiscard]] ir::ValueId current(ir::ValueId id) const;

  ir::Graph& graph_;
  std::span<const RewriteRow> rows_;
  Keep keep_;
  std::vector<ir::Node> old_nodes_;
  std::vector<size_t> uses_;
  std::vector<std::vector<ir::NodeId>> readers_;
  std::vector<bool> skipped_;
  std::vector<ir::ValueId> forwarded_;
  std::string name_;  // of the current node
  std::string source_;
  ir::NodeId origin_;
  Diagnostics errors_;
};

// A diagnostic about a node of the user's model.
Diagnostic about(const ir::Node& node, std::string what);

}  // namespace carina::normalize
