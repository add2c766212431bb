#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "normalize/rewriter.h"
#include "tensor/filled_tensor.h"

namespace carina::normalize {

using ir::Node;
using ir::ValueId;

std::vector<RewriteRow> joined(std::initializer_list<std::span<const RewriteRow>> tables) {
  std::vector<RewriteRow> rows;
  for (const auto table : tables) rows.insert(rows.end(), table.begin(), table.end());
  return rows;
}

std::string where_of(const Node& node) {
  return node.source.empty() ? node.name : fmt::format("{} ({})", node.name, node.source);
}

Diagnostic about(const Node& node, std::string what) {
  return {.where = where_of(node), .what = std::move(what)};
}

Rewriter::Rewriter(ir::Graph& graph, std::span<const RewriteRow> rows, Keep keep)
    : graph_(graph), rows_(rows), keep_(keep), readers_(ir::users(graph)), forwarded_(graph.values.size()) {
  for (const auto& nodes : readers_) uses_.push_back(nodes.size());
  for (const ValueId output : graph.outputs) {
    if (output.valid()) ++uses_[output.index()];
  }
  old_nodes_ = std::exchange(graph.nodes, {});
  skipped_.assign(old_nodes_.size(), false);
}

ValueId Rewriter::current(ValueId id) const {
  while (id.valid() && id.index() < forwarded_.size() && forwarded_[id.index()].valid()) id = forwarded_[id.index()];
  return id;
}

Node Rewriter::begin(size_t index) {
  Node node = old_nodes_[index];
  name_ = node.name;
  source_ = node.source;
  origin_ = node.origin;
  return node;
}

Result<void> Rewriter::finish() {
  if (!errors_.empty()) return fail(std::move(errors_));
  for (ValueId& output : graph_.outputs) output = current(output);
  ir::remove_dead(graph_);
  return {};
}

Result<void> Rewriter::run() {
  for (size_t n = 0; n < old_nodes_.size(); ++n) {
    if (skipped_[n]) continue;
    if (auto applied = apply(begin(n)); !applied) add_errors(std::move(applied).error());
  }
  return finish();
}

Result<void> Rewriter::run_each(const std::function<Result<bool>(const Node& node, ir::NodeId id)>& rewrite) {
  for (size_t n = 0; n < old_nodes_.size(); ++n) {
    Node node = begin(n);
    for (ValueId& input : node.inputs) input = current(input);
    auto done = rewrite(node, ir::NodeId(n));
    if (!done)
      add_errors(std::move(done).error());
    else if (!*done)
      graph_.add_node(std::move(node));
  }
  return finish();
}

void Rewriter::add_errors(Diagnostics errors) {
  for (Diagnostic& error : errors) {
    if (origin_.valid()) error.node = origin_.index();
    errors_.push_back(std::move(error));
  }
}

Result<void> Rewriter::apply(Node node) {
  for (ValueId& input : node.inputs) input = current(input);
  if (node.op.is_aten() && (keep_ == nullptr || !keep_(*this, node))) {
    for (const RewriteRow& row : rows_) {
      if (row.op != node.op.aten()) continue;
      CARINA_TRY(const bool rewritten, row.rewrite(*this, node));
      if (rewritten) return {};
    }
  }
  graph_.add_node(std::move(node));
  return {};
}

ValueId Rewriter::make_value(AtenOp op, std::vector<ValueId> inputs, ir::Attributes attributes, ir::Value result) {
  const ValueId output = graph_.add_value(std::move(result));
  if (auto applied = define(output, op, std::move(inputs), std::move(attributes)); !applied) {
    std::ranges::move(applied.error(), std::back_inserter(errors_));
  }
  return current(output);
}

ValueId Rewriter::make(AtenOp op, std::vector<ValueId> inputs, ir::Attributes attributes, const Shape& shape) {
  const std::string_view op_name = row_of(op).name;
  const size_t first = op_name.find('.') + 1;
  ir::Value result{.name = fmt::format("{}_{}", name_, op_name.substr(first, op_name.find('.', first) - first)),
                   .dtype = graph_[inputs.front()].dtype,
                   .shape = shape,
                   .quantization = {},
                   .constant = {}};
  return make_value(op, std::move(inputs), std::move(attributes), std::move(result));
}

ValueId Rewriter::move(AtenOp op, std::vector<ValueId> inputs, ir::Attributes attributes, const Shape& shape) {
  const ValueId input = current(inputs.front());
  const ValueId output = make(op, std::move(inputs), std::move(attributes), shape);
  const std::optional<Quantization>& quantization = graph_[input].quantization;
  if (quantization && !quantization->per_channel() && !graph_[output].quantization)
    graph_[output].quantization = quantization;
  return output;
}

Result<void> Rewriter::define(ValueId output, AtenOp op, std::vector<ValueId> inputs, ir::Attributes attributes) {
  return apply({.op = op,
                .name = name_,
                .inputs = std::move(inputs),
                .outputs = {output},
                .attributes = std::move(attributes),
                .source = source_,
                .origin = origin_});
}

ValueId Rewriter::view(ValueId input, const Shape& shape) {
  if (graph_[current(input)].shape == shape) return current(input);
  return move(AtenOp::view_default, {input}, {{"size", std::vector(shape.dims().begin(), shape.dims().end())}}, shape);
}

Result<void> Rewriter::view_into(ValueId output, ValueId input) {
  const auto dims = graph_[output].shape.dims();
  return define(output, AtenOp::view_default, {input}, {{"size", std::vector(dims.begin(), dims.end())}});
}

ValueId Rewriter::scalar(double value, DType dtype) {
  const std::string name = name_ + "_scalar";
  if (is_float(dtype)) return constant(name, filled_tensor(dtype, {}, value));
  if (dtype == DType::kInt64)
    return constant(name, Tensor::of<int64_t>(dtype, {}, std::vector{static_cast<int64_t>(value)}));
  return constant(name, Tensor::of<int32_t>(DType::kInt32, {}, std::vector{static_cast<int32_t>(value)}));
}

ValueId Rewriter::constant(std::string_view name, Tensor tensor) {
  return graph_.add_constant(name, std::move(tensor));
}

ValueId Rewriter::derived(ValueId from, std::string_view suffix, Tensor (*make)(const Tensor& from)) {
  ValueId& made = derived_[{from, std::string(suffix)}];
  if (!made.valid()) made = constant(graph_[from].name + std::string(suffix), make(*graph_[from].constant));
  return made;
}

void Rewriter::forward(ValueId output, ValueId source) {
  if (forwarded_.size() <= output.index()) forwarded_.resize(output.index() + 1);
  const ValueId target = current(source);
  forwarded_[output.index()] = target;
  if (target.index() < uses_.size() && output.index() < uses_.size())
    uses_[target.index()] += uses_[output.index()] - 1;
}

}  // namespace carina::normalize
