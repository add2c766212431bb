#include <algorithm>

#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

std::optional<Shape> NodeView::declared(size_t result) const {
  if (result >= node.outputs.size() || !node.outputs[result].valid()) return std::nullopt;
  return graph[node.outputs[result]].shape;
}

const Sizes& NodeView::ints(std::string_view name) const {
  static const Sizes kNone;
  return is_none(name) ? kNone : node.attributes.integers(name);
}

Shapes one(const Shape& shape) {
  return std::vector{std::optional(shape)};
}

Shapes one(const Sizes& sizes) {
  if (sizes.size() > Shape::kMaxRank)
    return broken("its result has {} axes, and {} are the limit", sizes.size(), Shape::kMaxRank);
  return one(Shape(sizes));
}

Shapes same_as_first(const NodeView& n) {
  if (!n.has(0)) return broken("it has no operand");
  return one(n.shape(0));
}

Shapes broadcast_of_all(const NodeView& n) {
  Shape shape;
  for (size_t i = 0; i < n.node.inputs.size(); ++i) {
    if (!n.has(i)) continue;
    CARINA_TRY(shape, broadcast_shapes(shape, n.shape(i)));
  }
  return one(shape);
}

Shapes unchecked(const NodeView& n) {
  return std::vector<std::optional<Shape>>(n.node.outputs.size());
}

Sizes sizes_of(const Shape& shape) {
  return {shape.dims().begin(), shape.dims().end()};
}

std::expected<size_t, std::string> axis_of(int64_t dim, size_t rank) {
  const auto axes = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (dim < -axes || dim >= axes) return broken("axis {} of a tensor of rank {}", dim, rank);
  return static_cast<size_t>(dim < 0 ? dim + axes : dim);
}

std::expected<std::vector<size_t>, std::string> axes_of(const Sizes& dims, size_t rank) {
  std::vector<size_t> axes;
  for (const int64_t dim : dims) {
    CARINA_TRY(const size_t axis, axis_of(dim, rank));
    if (std::ranges::find(axes, axis) != axes.end()) return broken("axis {} is given twice", dim);
    axes.push_back(axis);
  }
  return axes;
}

std::expected<Shape, std::string> broadcast_shapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  const size_t offset = longer.rank() - shorter.rank();
  for (size_t i = 0; i < shorter.rank(); ++i) {
    const int64_t size = shorter[i];
    if (result[offset + i] == 1) result[offset + i] = size;
    if (size != 1 && result[offset + i] != size)
      return broken("{} and {} cannot be broadcast", to_string(a), to_string(b));
  }
  return result;
}

bool broadcasts_to(const Shape& shape, const Shape& wanted) {
  return broadcast_shapes(shape, wanted) == wanted;
}

std::expected<void, std::string> expect_shape(const NodeView& n, size_t operand, std::string_view name,
                                              const Shape& wanted) {
  if (!n.has(operand) || n.shape(operand) == wanted) return {};
  return broken("its {} is {}, not {}", name, to_string(n.shape(operand)), to_string(wanted));
}

}  // namespace carina::aten
