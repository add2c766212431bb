#include "frontend/pt2/verify/slices.h"

#include <algorithm>
#include <limits>

#include "base/checked_math.h"

namespace carina::aten {

namespace {

// An end of a slice within [0, size]; negative ones count from the end.
int64_t clamped(const NodeView& n, std::string_view name, int64_t size, int64_t none) {
  const int64_t position = n.is_none(name) ? none : n.integer(name);
  if (position >= 0) return std::min(position, size);
  return position < -size ? 0 : position + size;
}

Shape without_axis(const Shape& shape, size_t axis) {
  Sizes sizes = sizes_of(shape);
  sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(axis));
  return Shape(sizes);
}

}  // namespace

std::expected<Shape, std::string> shape_of_slice(const NodeView& n) {
  Shape shape = n.shape(0);
  if (shape.rank() == 0) return broken("its operand has no axis");
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), shape.rank()));
  const int64_t step = n.integer("step"), size = shape[axis];
  if (step < 1) return broken("step {}", step);
  const int64_t start = clamped(n, "start", size, 0);
  const int64_t end = std::max(start, clamped(n, "end", size, size));
  shape[axis] = (end - start + step - 1) / step;
  return shape;
}

std::expected<Shape, std::string> shape_of_element(const NodeView& n) {
  const Shape& shape = n.shape(0);
  if (shape.rank() == 0) return broken("its operand has no axis");
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), shape.rank()));
  const int64_t index = n.integer("index");
  if (index < -shape[axis] || index >= shape[axis]) return broken("element {} of {}", index, shape[axis]);
  return without_axis(shape, axis);
}

std::expected<Shape, std::string> shape_of_diagonal(const NodeView& n) {
  const Shape& shape = n.shape(0);
  if (shape.rank() < 2) return broken("its operand has rank {}", shape.rank());
  CARINA_TRY(const auto axes, axes_of({n.integer("dim1"), n.integer("dim2")}, shape.rank()));
  const int64_t offset = n.integer("offset");
  const int64_t rows = shape[axes[0]] - std::max<int64_t>(-offset, 0);
  const int64_t columns = shape[axes[1]] - std::max<int64_t>(offset, 0);
  Sizes sizes = sizes_of(without_axis(without_axis(shape, std::max(axes[0], axes[1])), std::min(axes[0], axes[1])));
  sizes.push_back(std::max<int64_t>(std::min(rows, columns), 0));
  return Shape(sizes);
}

std::expected<Shape, std::string> shape_of_strided(const NodeView& n) {
  const Sizes &sizes = n.ints("size"), &strides = n.ints("stride");
  if (sizes.size() != strides.size() || sizes.size() > Shape::kMaxRank)
    return broken("{} sizes and {} strides", sizes.size(), strides.size());
  const int64_t offset = n.is_none("storage_offset") ? 0 : n.integer("storage_offset");
  std::optional<int64_t> last = offset;
  bool empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || strides[i] < 0) return broken("size {} and stride {}", sizes[i], strides[i]);
    if (sizes[i] == 0) empty = true;
    const auto reach = checked_mul(sizes[i] - 1, strides[i]);
    last = last && reach ? checked_add(*last, *reach) : std::nullopt;
  }
  if (!empty && (offset < 0 || !last || *last >= n.shape(0).elements()))
    return broken("it reads past the {} elements of its operand", n.shape(0).elements());
  return Shape(sizes);
}

}  // namespace carina::aten
