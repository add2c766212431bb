// Operators with a list of operands or of results: cat, stack, split, meshgrid.

#include <array>

#include "base/checked_math.h"
#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

namespace {

// An empty vector, which cat leaves out whatever the rank of the others.
bool is_skipped(const Shape& shape) {
  return shape == Shape{0};
}

// Joins along `dim`: the other axes are equal.
Shapes joined(const NodeView& n, int64_t dim) {
  if (n.node.inputs.empty()) return broken("its list is empty");
  std::optional<Shape> sum;
  size_t axis = 0;
  for (size_t i = 0; i < n.node.inputs.size(); ++i) {
    const Shape& part = n.shape(i);
    if (is_skipped(part)) continue;
    if (part.rank() == 0) return broken("a part has no axis");
    if (!sum) {
      CARINA_TRY(axis, axis_of(dim, part.rank()));
      sum = part;
      (*sum)[axis] = 0;
    }
    Shape others = part;
    if (part.rank() == sum->rank()) others[axis] = (*sum)[axis];
    if (others != *sum)
      return broken("part {} does not fit the others, which have {} axes", to_string(part), sum->rank());
    (*sum)[axis] += part[axis];
  }
  return one(sum.value_or(Shape{0}));
}
Shapes cat(const NodeView& n) {
  return joined(n, n.integer("dim"));
}

Shapes stack(const NodeView& n) {
  if (n.node.inputs.empty()) return broken("its list is empty");
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0) + 1));
  for (size_t i = 1; i < n.node.inputs.size(); ++i) {
    if (n.shape(i) != n.shape(0)) return broken("parts {} and {}", to_string(n.shape(0)), to_string(n.shape(i)));
  }
  Sizes sizes = sizes_of(n.shape(0));
  sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(axis), static_cast<int64_t>(n.node.inputs.size()));
  return one(sizes);
}

// Joins parts that have at least `kAxes` axes after ones were put before their own.
template <size_t kAxes>
Shapes joined_with_axes(const NodeView& n) {
  if (n.node.inputs.empty()) return broken("its list is empty");
  Shape sum;
  for (size_t i = 0; i < n.node.inputs.size(); ++i) {
    Sizes sizes = sizes_of(n.shape(i));
    while (sizes.size() < kAxes) sizes.insert(sizes.begin(), 1);
    const size_t axis = kAxes == 1 && sizes.size() > 1 ? 1 : 0;
    const int64_t own = sizes[axis];
    if (i == 0) {
      sum = Shape(sizes);
      continue;
    }
    if (sizes.size() == sum.rank()) sizes[axis] = sum[axis];
    if (Shape(sizes) != sum) return broken("parts {} and {}", to_string(n.shape(0)), to_string(n.shape(i)));
    sum[axis] += own;
  }
  return one(sum);
}

// Results along the axis `dim`, with these sizes.
Shapes parts(const NodeView& n, const Sizes& sizes) {
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0)));
  std::vector<std::optional<Shape>> shapes;
  for (const int64_t size : sizes) {
    Shape shape = n.shape(0);
    shape[axis] = size;
    shapes.emplace_back(shape);
  }
  return shapes;
}

std::expected<int64_t, std::string> size_of_axis(const NodeView& n) {
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0)));
  if (n.rank(0) == 0) return broken("its operand has no axis");
  return n.shape(0)[axis];
}

// The number of results is compared before a list of that length is made.
Shapes equal_parts(const NodeView& n, int64_t size, int64_t count, int64_t part) {
  if (count != static_cast<int64_t>(n.node.outputs.size()))
    return broken("it has {} results, not {}", count, n.node.outputs.size());
  Sizes sizes(static_cast<size_t>(count), part);
  if (!sizes.empty()) sizes.back() = size - part * (count - 1);
  return parts(n, sizes);
}

Shapes split(const NodeView& n) {
  CARINA_TRY(const int64_t size, size_of_axis(n));
  const int64_t part = n.integer("split_size");
  if (part < 0 || (part == 0 && size != 0)) return broken("parts of {} elements", part);
  return equal_parts(n, size, size == 0 ? 1 : ceil_div(size, part), part);
}

Shapes chunk(const NodeView& n) {
  CARINA_TRY(const int64_t size, size_of_axis(n));
  const int64_t chunks = n.integer("chunks");
  if (chunks < 1) return broken("{} parts", chunks);
  const int64_t part = ceil_div(size, chunks);
  if (part == 0) return equal_parts(n, 0, chunks, 0);
  return equal_parts(n, size, ceil_div(size, part), part);
}

Shapes split_with_sizes(const NodeView& n, const Sizes& sizes) {
  CARINA_TRY(const int64_t size, size_of_axis(n));
  std::optional<int64_t> sum = 0;
  for (const int64_t part : sizes) sum = part < 0 || !sum ? std::nullopt : checked_add(*sum, part);
  if (sum != size) return broken("its parts are not the {} elements of its axis", size);
  return parts(n, sizes);
}
Shapes split_size_list(const NodeView& n) {
  return split_with_sizes(n, n.ints("split_size"));
}
Shapes split_sizes_list(const NodeView& n) {
  return split_with_sizes(n, n.ints("split_sizes"));
}

Shapes unbind(const NodeView& n) {
  CARINA_TRY(const int64_t size, size_of_axis(n));
  CARINA_TRY(const size_t axis, axis_of(n.integer("dim"), n.rank(0)));
  if (size != static_cast<int64_t>(n.node.outputs.size()))
    return broken("it has {} results, not {}", size, n.node.outputs.size());
  Sizes sizes = sizes_of(n.shape(0));
  sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(axis));
  return std::vector<std::optional<Shape>>(static_cast<size_t>(size), Shape(sizes));
}

// Sections whose sizes differ by at most one.
Shapes sections(const NodeView& n) {
  CARINA_TRY(const int64_t size, size_of_axis(n));
  const int64_t count = n.integer("sections");
  if (count < 1 || count != static_cast<int64_t>(n.node.outputs.size()))
    return broken("{} sections and {} results", count, n.node.outputs.size());
  Sizes sizes;
  for (int64_t i = 0; i < count; ++i) sizes.push_back(size / count + (i < size % count ? 1 : 0));
  return parts(n, sizes);
}

Shapes sections_at(const NodeView& n) {
  CARINA_TRY(const int64_t size, size_of_axis(n));
  const auto place = [size](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size); };
  Sizes sizes;
  int64_t start = 0;
  for (const int64_t index : n.ints("indices")) {
    const int64_t end = place(index);
    sizes.push_back(std::max<int64_t>(end - start, 0));
    start = end;
  }
  sizes.push_back(size - start);
  return parts(n, sizes);
}

Shapes meshgrid(const NodeView& n) {
  Sizes sizes;
  for (size_t i = 0; i < n.node.inputs.size(); ++i) {
    if (n.rank(i) > 1) return broken("an operand has rank {}", n.rank(i));
    sizes.push_back(n.rank(i) == 0 ? 1 : n.shape(i)[0]);
  }
  const ir::Attribute* order = n.node.attributes.find("indexing");
  const auto* text = order == nullptr ? nullptr : std::get_if<std::string>(order);
  if (text != nullptr && *text != "ij" && *text != "xy") return broken("its indexing is neither ij nor xy");
  if (text != nullptr && *text == "xy" && sizes.size() >= 2) std::swap(sizes[0], sizes[1]);
  CARINA_TRY(const auto shapes, one(sizes));
  return std::vector<std::optional<Shape>>(n.node.inputs.size(), shapes.front());
}

constexpr std::array kSplitRules = {
    Rule{AtenOp::cat_default, cat, promoted},
    Rule{AtenOp::concat_default, cat, promoted},
    Rule{AtenOp::concatenate_default, cat, promoted},
    Rule{AtenOp::stack_default, stack, promoted},
    Rule{AtenOp::hstack_default, joined_with_axes<1>, promoted},
    Rule{AtenOp::vstack_default, joined_with_axes<2>, promoted},
    Rule{AtenOp::split_Tensor, split, same_type},
    Rule{AtenOp::split_copy_Tensor, split, same_type},
    Rule{AtenOp::unsafe_split_Tensor, split, same_type},
    Rule{AtenOp::split_sizes, split_size_list, same_type},
    Rule{AtenOp::split_default, split_sizes_list, same_type},
    Rule{AtenOp::split_with_sizes_default, split_sizes_list, same_type},
    Rule{AtenOp::split_with_sizes_copy_default, split_sizes_list, same_type},
    Rule{AtenOp::unsafe_split_with_sizes_default, split_sizes_list, same_type},
    Rule{AtenOp::chunk_default, chunk, same_type},
    Rule{AtenOp::unsafe_chunk_default, chunk, same_type},
    Rule{AtenOp::unbind_int, unbind, same_type},
    Rule{AtenOp::unbind_copy_int, unbind, same_type},
    Rule{AtenOp::tensor_split_sections, sections, same_type},
    Rule{AtenOp::tensor_split_indices, sections_at, same_type},
    Rule{AtenOp::tensor_split_tensor_indices_or_sections, unchecked, same_type},
    Rule{AtenOp::meshgrid_default, meshgrid, same_type},
    Rule{AtenOp::meshgrid_indexing, meshgrid, same_type},
};

}  // namespace

std::span<const Rule> split_rules() {
  return kSplitRules;
}

}  // namespace carina::aten
