#include "lower/tosa_passes/layouts_internal.h"

#include <algorithm>
#include <numeric>

#include "tensor/elements.h"

namespace carina::lower {

using ir::Node;

namespace {

struct Row {
  TosaOp op;
  size_t data_operands;
  LayoutRule rule = LayoutRule::kSame;
};

constexpr size_t kAllOperands = 1000;
constexpr Row kLayoutRows[] = {
    {TosaOp::RESCALE, 1},
    {TosaOp::CLAMP, 1},
    {TosaOp::TABLE, 1},
    {TosaOp::CAST, 1},
    {TosaOp::IDENTITY, 1},
    {TosaOp::SIGMOID, 1},
    {TosaOp::TANH, 1},
    {TosaOp::ERF, 1},
    {TosaOp::EXP, 1},
    {TosaOp::LOG, 1},
    {TosaOp::ABS, 1},
    {TosaOp::CEIL, 1},
    {TosaOp::FLOOR, 1},
    {TosaOp::SIN, 1},
    {TosaOp::COS, 1},
    {TosaOp::CLZ, 1},
    {TosaOp::NEGATE, 1},
    {TosaOp::RECIPROCAL, 1},
    {TosaOp::RSQRT, 1},
    {TosaOp::BITWISE_NOT, 1},
    {TosaOp::LOGICAL_NOT, 1},
    {TosaOp::ADD, 2},
    {TosaOp::SUB, 2},
    {TosaOp::MUL, 2},
    {TosaOp::POW, 2},
    {TosaOp::INTDIV, 2},
    {TosaOp::MAXIMUM, 2},
    {TosaOp::MINIMUM, 2},
    {TosaOp::EQUAL, 2},
    {TosaOp::GREATER, 2},
    {TosaOp::GREATER_EQUAL, 2},
    {TosaOp::BITWISE_AND, 2},
    {TosaOp::BITWISE_OR, 2},
    {TosaOp::BITWISE_XOR, 2},
    {TosaOp::LOGICAL_AND, 2},
    {TosaOp::LOGICAL_OR, 2},
    {TosaOp::LOGICAL_XOR, 2},
    {TosaOp::LOGICAL_LEFT_SHIFT, 2},
    {TosaOp::LOGICAL_RIGHT_SHIFT, 2},
    {TosaOp::ARITHMETIC_RIGHT_SHIFT, 2},
    {TosaOp::SELECT, 3},
    {TosaOp::REDUCE_SUM, 1, LayoutRule::kAxis},
    {TosaOp::REDUCE_MAX, 1, LayoutRule::kAxis},
    {TosaOp::REDUCE_MIN, 1, LayoutRule::kAxis},
    {TosaOp::REDUCE_PRODUCT, 1, LayoutRule::kAxis},
    {TosaOp::REDUCE_ALL, 1, LayoutRule::kAxis},
    {TosaOp::REDUCE_ANY, 1, LayoutRule::kAxis},
    {TosaOp::REVERSE, 1, LayoutRule::kAxis},
    {TosaOp::CONCAT, kAllOperands, LayoutRule::kAxis},
    {TosaOp::SLICE, 1, LayoutRule::kShapes},
    {TosaOp::TILE, 1, LayoutRule::kShapes},
    {TosaOp::PAD, 1, LayoutRule::kPadding},
    {TosaOp::TRANSPOSE, 1, LayoutRule::kTransposed},
    {TosaOp::RESHAPE, 1, LayoutRule::kReshaped},
    {TosaOp::MATMUL, 2, LayoutRule::kProduct},
};

bool is_all(const Node& node, std::string_view attribute, int64_t value) {
  return std::ranges::all_of(node.attributes.integers(attribute), [&](int64_t v) { return v == value; });
}

// Whether a convolution is a product per pixel, so that pixels may be in any order.
bool is_pointwise(const ir::Graph& graph, const Node& node) {
  if (node.op != ir::Op(TosaOp::CONV2D)) return false;
  const Shape& weight = graph[node.inputs[1]].shape;
  return weight[1] == 1 && weight[2] == 1 && is_all(node, "stride", 1) && is_all(node, "pad", 0);
}

// Whether each window of a pool is one element.
bool pools_nothing(const Node& node) {
  return node.op == ir::Op(TosaOp::MAX_POOL2D) && is_all(node, "kernel", 1) && is_all(node, "stride", 1) &&
         is_all(node, "pad", 0);
}

// Axes of one tensor and of another that have the same elements. Axes of size 1 are in none.
struct Group {
  std::vector<int64_t> from, to;
};

// The smallest groups of the axes of two shapes with the same number of elements, in order.
//   [2,8,64] and [2,8,8,1,8]: {0},{0}; {1},{1}; {2},{2,4}
std::vector<Group> groups_of(const Shape& from, const Shape& to) {
  std::vector<Group> groups;
  size_t f = 0, t = 0;
  int64_t from_elems = 1, to_elems = 1;
  Group group;
  while (f < from.rank() || t < to.rank()) {
    const bool reads_from = f < from.rank() && (from_elems <= to_elems || t == to.rank());
    const Shape& shape = reads_from ? from : to;
    size_t& axis = reads_from ? f : t;
    if (shape[axis] != 1) {
      (reads_from ? group.from : group.to).push_back(static_cast<int64_t>(axis));
      (reads_from ? from_elems : to_elems) *= shape[axis];
    }
    ++axis;
    if (from_elems != to_elems || from_elems == 1) continue;
    groups.push_back(std::exchange(group, {}));
    from_elems = to_elems = 1;
  }
  return groups;
}

// The layout with these axes in this order. `order` has no axes of size 1: each of them stands before the next larger
// axis of the shape.
Layout with_single_axes(const Shape& shape, const std::vector<int64_t>& order) {
  Layout layout;
  const auto add_before = [&](int64_t axis) {
    int64_t first = axis;
    while (first > 0 && shape[static_cast<size_t>(first - 1)] == 1) --first;
    for (; first < axis; ++first) layout.push_back(first);
  };
  for (const int64_t axis : order) {
    add_before(axis);
    layout.push_back(axis);
  }
  add_before(static_cast<int64_t>(shape.rank()));
  return layout;
}

// The layout of `to` whose elements are in the order of `layout` of `from`.
std::optional<Layout> reshaped(const Shape& from, const Layout& layout, const Shape& to) {
  if (from.elements() == 0) return std::nullopt;
  const std::vector<Group> groups = groups_of(from, to);
  const Layout order = element_order(from, layout);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < order.size();) {
    const auto group = std::ranges::find(groups, order[i], [](const Group& g) { return g.from.front(); });
    if (group == groups.end() || order.size() - i < group->from.size()) return std::nullopt;
    if (!std::equal(group->from.begin(), group->from.end(), order.begin() + static_cast<std::ptrdiff_t>(i)))
      return std::nullopt;
    axes.insert(axes.end(), group->to.begin(), group->to.end());
    i += group->from.size();
  }
  return with_single_axes(to, axes);
}

const Layout& swapped() {
  static const Layout layout{0, 2, 1};
  return layout;
}

bool may_have(const Node& node, LayoutRule rule, const Layout& result) {
  if (is_identity(result)) return true;
  if (rule == LayoutRule::kFixed) return false;
  if (rule == LayoutRule::kProduct) return result == swapped();
  const bool last_stays = rule == LayoutRule::kLastStays ||
                          (node.op == ir::Op(TosaOp::RESCALE) && node.attributes.get<bool>("per_channel"));
  return !last_stays || result.back() + 1 == static_cast<int64_t>(result.size());
}

}  // namespace

Layout identity_layout(const Shape& shape) {
  Layout layout(shape.rank());
  std::iota(layout.begin(), layout.end(), int64_t{0});
  return layout;
}

Layout element_order(const Shape& shape, const Layout& layout) {
  Layout order;
  std::ranges::copy_if(layout, std::back_inserter(order),
                       [&](int64_t axis) { return shape[static_cast<size_t>(axis)] != 1; });
  return order;
}

NodeLayouts layouts_of(const ir::Graph& graph, const Node& node) {
  if (node.outputs.size() != 1) return {};
  if (is_pointwise(graph, node)) return {.rule = LayoutRule::kLastStays, .data_operands = 1};
  if (pools_nothing(node)) return {.rule = LayoutRule::kSame, .data_operands = 1};
  const auto* row = std::ranges::find(kLayoutRows, node.op.tosa(), &Row::op);
  if (row == std::end(kLayoutRows)) return {};
  const size_t count = std::min(row->data_operands, node.inputs.size());
  const size_t rank = graph[node.outputs[0]].shape.rank();
  const bool keeps_rank = row->rule != LayoutRule::kReshaped;
  for (size_t i = 0; i < count && keeps_rank; ++i) {
    if (graph[node.inputs[i]].shape.rank() != rank) return {};
  }
  for (size_t i = count; i < node.inputs.size() && row->rule != LayoutRule::kSame; ++i) {
    if (!graph[node.inputs[i]].constant) return {};  // shapes must be known
  }
  return {.rule = row->rule, .data_operands = count};
}

std::optional<std::vector<Layout>> operand_layouts(const ir::Graph& graph, const Node& node, const NodeLayouts& rule,
                                                   const Layout& result) {
  if (!may_have(node, rule.rule, result)) return std::nullopt;
  if (rule.rule == LayoutRule::kTransposed) return {{permuted(node.attributes.integers("perms"), result)}};
  if (rule.rule != LayoutRule::kReshaped) return std::vector<Layout>(rule.data_operands, result);
  if (is_identity(result)) return {{identity_layout(graph[node.inputs[0]].shape)}};
  auto operand = reshaped(graph[node.outputs[0]].shape, result, graph[node.inputs[0]].shape);
  if (!operand) return std::nullopt;
  return {{*std::move(operand)}};
}

std::optional<Layout> result_layout(const ir::Graph& graph, const Node& node, const NodeLayouts& rule, size_t operand,
                                    const Layout& layout) {
  if (operand >= rule.data_operands) return std::nullopt;
  std::optional<Layout> result = layout;
  if (rule.rule == LayoutRule::kTransposed) result = permuted(inverse_of(node.attributes.integers("perms")), layout);
  if (rule.rule == LayoutRule::kReshaped)
    result = reshaped(graph[node.inputs[0]].shape, layout, graph[node.outputs[0]].shape);
  return result && may_have(node, rule.rule, *result) ? result : std::nullopt;
}

}  // namespace carina::lower
