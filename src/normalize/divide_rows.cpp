#include "normalize/divide_rows.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "normalize/decompose_internal.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

// An interpolated table has 256 steps for positive numbers. The offset is more than one step, 1 / 240 of the range, so
// that no value falls into the first step, in which 1 / d rises without limit.
constexpr double kTableSteps = 240;

bool is(const Node& node, AtenOp op) {
  return node.op == ir::Op(op);
}

// Walks from rsqrt to the rows and to the results.
class Finder {
 public:
  explicit Finder(const ir::Graph& graph)
      : graph_(graph), producers_(ir::producers(graph)), users_(ir::users(graph)), is_output_(ir::is_output(graph)) {}

  [[nodiscard]] std::optional<RowNorm> norm_at(ir::NodeId id) const {
    const Node& rsqrt = graph_[id];
    if (!is(rsqrt, AtenOp::rsqrt_default) || graph_[rsqrt.inputs[0]].dtype != DType::kFp32) return std::nullopt;
    const Node* sum = inner(rsqrt.inputs[0], AtenOp::add_Tensor);
    if (sum == nullptr || sum->attributes.number("alpha") != 1) return std::nullopt;
    const size_t constant = graph_[sum->inputs[1]].constant ? 1 : 0;
    const std::optional<double> eps = number(sum->inputs[constant]);
    const Node* mean = inner(sum->inputs[1 - constant], AtenOp::mean_dim);
    if (!eps || *eps <= 0 || mean == nullptr || !mean->attributes.get<bool>("keepdim")) return std::nullopt;
    const Node* square = inner(mean->inputs[0], AtenOp::mul_Tensor);
    if (square == nullptr || square->inputs[0] != square->inputs[1]) return std::nullopt;
    const ValueId rows = square->inputs[0];
    if (!divides_only(rsqrt.outputs[0], rows)) return std::nullopt;
    return RowNorm{.rsqrt = id, .rows = rows, .squares = rsqrt.inputs[0], .eps = *eps};
  }

 private:
  // The producer of a value with one reader, if it is this operator.
  [[nodiscard]] const Node* inner(ValueId id, AtenOp op) const {
    const ir::NodeId producer = producers_[id.index()];
    const bool is_inner = producer.valid() && is(graph_[producer], op) && users_[id.index()].size() == 1 &&
                          !is_output_[id.index()] && !graph_[id].quantization;
    return is_inner ? &graph_[producer] : nullptr;
  }

  [[nodiscard]] std::optional<double> number(ValueId id) const {
    const ir::Value& value = graph_[id];
    if (!value.constant || value.dtype != DType::kFp32 || value.shape.elements() != 1) return std::nullopt;
    return value.constant->values<float>().front();
  }

  // All readers of 1 / sqrt(...) multiply the rows by it.
  [[nodiscard]] bool divides_only(ValueId inverse, ValueId rows) const {
    return !is_output_[inverse.index()] && !graph_[inverse].quantization &&
           std::ranges::all_of(users_[inverse.index()], [&](ir::NodeId user) {
             const Node& node = graph_[user];
             return is(node, AtenOp::mul_Tensor) && std::ranges::find(node.inputs, rows) != node.inputs.end();
           });
  }

  const ir::Graph& graph_;
  std::vector<ir::NodeId> producers_;
  std::vector<std::vector<ir::NodeId>> users_;
  std::vector<bool> is_output_;
};

struct Divided {
  ValueId rows;
  ValueId inverse;
};

Divided divided(Rewriter& in, const RowDivision& division, const std::vector<size_t>& axes) {
  const ValueId rows = division.norm.rows;
  const Shape shape = in.shape(rows), kept = kept_shape(shape, axes);
  const double offset = std::max(division.largest / kTableSteps, std::sqrt(division.norm.eps));
  const auto product = [&](ValueId a, ValueId b, const Shape& of) {
    return in.make(AtenOp::mul_Tensor, {a, b}, {}, of);
  };
  const auto sum = [&](ValueId a, ValueId b) { return in.make(AtenOp::add_Tensor, {a, b}, no_alpha(), kept); };
  const ValueId magnitude = in.make(AtenOp::abs_default, {rows}, {}, shape);
  const ValueId size = in.make(AtenOp::mean_dim, {magnitude}, over(axes), kept);
  const ValueId divisor = sum(size, in.scalar(offset, DType::kFp32));
  const ValueId root = in.make(AtenOp::rsqrt_default, {divisor}, {}, kept);
  const ValueId factor = product(root, root, kept);
  const ValueId scaled = product(rows, factor, shape);
  const ValueId mean = in.make(AtenOp::mean_dim, {product(scaled, scaled, shape)}, over(axes), kept);
  const ValueId eps = product(product(factor, factor, kept), in.scalar(division.norm.eps, DType::kFp32), kept);
  return {.rows = scaled, .inverse = in.make(AtenOp::rsqrt_default, {sum(mean, eps)}, {}, kept)};
}

// The axes along which the squares were reduced.
std::vector<size_t> axes_of(const Rewriter& in, const RowNorm& norm) {
  const Shape rows = in.shape(norm.rows), kept = in.shape(norm.squares);
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < rows.rank(); ++axis) {
    if (kept[axis] != rows[axis]) axes.push_back(axis);
  }
  return axes;
}

}  // namespace

std::vector<RowNorm> row_norms(const ir::Graph& aten) {
  const Finder finder(aten);
  std::vector<RowNorm> norms;
  for (size_t n = 0; n < aten.nodes.size(); ++n) {
    if (const auto norm = finder.norm_at(ir::NodeId(n))) norms.push_back(*norm);
  }
  return norms;
}

Result<void> divide_rows(ir::Graph& aten, std::span<const RowDivision> divisions) {
  std::map<ir::NodeId, const RowDivision*> at;
  for (const RowDivision& division : divisions) at[division.norm.rsqrt] = &division;
  std::map<ValueId, Divided> results;  // by the output of rsqrt
  Rewriter in(aten, std::span<const RewriteRow>());
  return in.run_each([&](const Node& node, ir::NodeId id) -> Result<bool> {
    if (const auto found = at.find(id); found != at.end()) {
      results[node.outputs[0]] = divided(in, *found->second, axes_of(in, found->second->norm));
      return true;
    }
    if (!is(node, AtenOp::mul_Tensor)) return false;
    const auto found = std::ranges::find_if(node.inputs, [&](ValueId input) { return results.contains(input); });
    if (found == node.inputs.end()) return false;
    const Divided& result = results.at(*found);
    return rewritten(in.define(node.outputs[0], AtenOp::mul_Tensor, {result.rows, result.inverse}, {}));
  });
}

}  // namespace carina::normalize
