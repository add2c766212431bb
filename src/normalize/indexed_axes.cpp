#include "normalize/indexed_axes_internal.h"

#include <algorithm>

#include "normalize/axes.h"
#include "normalize/slices.h"
#include "tensor/elements.h"

namespace carina::normalize {

using ir::ValueId;
using Ints = std::vector<int64_t>;

namespace {

Ints inverse(const Ints& dims) {
  Ints result(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) result[static_cast<size_t>(dims[i])] = static_cast<int64_t>(i);
  return result;
}

Shape with_rank(const Shape& shape, size_t rank) {
  Ints dims = dims_of(shape);
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  return Shape(dims);
}

// The offset of element `i` of a tensor of shape `whole` in a part that is broadcast to it.
size_t broadcast_offset(const Shape& whole, const Shape& part, int64_t i) {
  size_t offset = 0, stride = 1;
  for (size_t axis = whole.rank(); axis-- > 0;) {
    const int64_t at = i % whole[axis];
    i /= whole[axis];
    if (axis + part.rank() < whole.rank()) continue;
    const int64_t size = part[axis + part.rank() - whole.rank()];
    if (size > 1) offset += static_cast<size_t>(at) * stride;
    stride *= static_cast<size_t>(size);
  }
  return offset;
}

}  // namespace

std::optional<Shape> broadcast_of_ranks(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.rank(), b.rank());
  return broadcast(with_rank(a, rank), with_rank(b, rank));
}

std::optional<IndexedAxes> IndexedAxes::of(const Rewriter& in, const Shape& shape,
                                           const std::vector<ValueId>& indices) {
  IndexedAxes axes;
  axes.sizes_ = dims_of(shape);
  if (indices.size() > shape.rank()) return std::nullopt;
  for (size_t axis = 0; axis < shape.rank(); ++axis) {
    const bool given = axis < indices.size() && indices[axis].valid();
    (given ? axes.indexed_ : axes.rest_).push_back(axis);
    if (!given) continue;
    const auto wider = broadcast_of_ranks(axes.chosen_, in.shape(indices[axis]));
    if (!wider) return std::nullopt;
    axes.chosen_ = *wider;
  }
  if (axes.indexed_.empty()) return std::nullopt;
  return axes;
}

int64_t IndexedAxes::row_count() const {
  int64_t product = 1;
  for (const size_t axis : indexed_) product *= sizes_[axis];
  return product;
}

int64_t IndexedAxes::inner() const {
  int64_t product = 1;
  for (const size_t axis : rest_) product *= sizes_[axis];
  return product;
}

// If the indexed axes are adjacent, the indices' axes replace them. Otherwise the indices' axes come first.
size_t IndexedAxes::first_chosen() const {
  return are_neighbors() ? indexed_.front() : 0;
}

bool IndexedAxes::are_neighbors() const {
  return indexed_.back() - indexed_.front() + 1 == indexed_.size();
}

int64_t IndexedAxes::before() const {
  int64_t product = 1;
  for (size_t i = 0; i < first_chosen(); ++i) product *= sizes_[rest_[i]];
  return product;
}

Shape IndexedAxes::chosen_shape() const {
  Ints dims;
  for (const size_t axis : rest_) dims.push_back(sizes_[axis]);
  const auto chosen = chosen_.dims();
  dims.insert(dims.begin() + static_cast<ptrdiff_t>(first_chosen()), chosen.begin(), chosen.end());
  return Shape(dims);
}

bool IndexedAxes::are_rows(const Shape& shape) const {
  return indexed_.back() + 1 == indexed_.size() && rows_shape(shape) == shape;
}

Shape IndexedAxes::rows_shape(const Shape& shape) const {
  Ints dims;
  for (const size_t axis : indexed_) dims.push_back(shape[axis]);
  dims.push_back(inner());
  return Shape(dims);
}

ValueId IndexedAxes::rows_of(Rewriter& in, ValueId x) const {
  Ints order = to_ints(indexed_);
  order.insert(order.end(), rest_.begin(), rest_.end());
  const Shape rows = rows_shape(in.shape(x));
  return in.view(permuted_axes(in, x, order), rows);
}

ValueId IndexedAxes::whole_of(Rewriter& in, ValueId rows, const Shape& shape) const {
  Ints order = to_ints(indexed_), dims;
  order.insert(order.end(), rest_.begin(), rest_.end());
  for (const int64_t axis : order) dims.push_back(shape[static_cast<size_t>(axis)]);
  return permuted_axes(in, in.view(rows, Shape(dims)), inverse(order));
}

// Converts [before, chosen, after] to [chosen, before * after] or back. `before` are the axes in front of the indices'
// axes.
ValueId IndexedAxes::chosen_rows_of(Rewriter& in, ValueId values) const {
  Ints rows = dims_of(chosen_);
  rows.push_back(inner());
  if (before() == 1) return in.view(values, Shape(rows));
  const ValueId blocks = in.view(values, Shape{before(), count(), inner() / before()});
  return in.view(permuted_axes(in, blocks, {1, 0, 2}), Shape(rows));
}

ValueId IndexedAxes::chosen_of(Rewriter& in, ValueId rows) const {
  if (before() == 1) return rows;
  return permuted_axes(in, in.view(rows, Shape{count(), before(), inner() / before()}), {1, 0, 2});
}

ValueId IndexedAxes::blocks_of(Rewriter& in, ValueId x) const {
  return in.view(are_neighbors() ? x : rows_of(in, x), Shape{before(), row_count(), inner() / before()});
}

ValueId IndexedAxes::whole_of_blocks(Rewriter& in, ValueId blocks, const Shape& shape) const {
  return are_neighbors() ? in.view(blocks, shape) : whole_of(in, blocks, shape);
}

ValueId IndexedAxes::chosen_blocks_of(Rewriter& in, ValueId values) const {
  return in.view(values, Shape{before(), count(), inner() / before()});
}

std::optional<Ints> IndexedAxes::known_rows(const Rewriter& in, const std::vector<ValueId>& indices) const {
  Ints numbers(static_cast<size_t>(count()), 0);
  for (const size_t axis : indexed_) {
    const ir::Value& index = in[indices[axis]];
    if (!index.constant) return std::nullopt;
    const Ints values = integers_of(*index.constant);
    for (size_t i = 0; i < numbers.size(); ++i) {
      int64_t at = values[broadcast_offset(chosen_, index.shape, static_cast<int64_t>(i))];
      if (at < -sizes_[axis] || at >= sizes_[axis]) return std::nullopt;
      if (at < 0) at += sizes_[axis];
      numbers[i] = numbers[i] * sizes_[axis] + at;
    }
  }
  return numbers;
}

ir::Attributes to_copy_attributes(DType to) {
  return {{"dtype", to},
          {"layout", std::monostate()},
          {"device", std::monostate()},
          {"pin_memory", std::monostate()},
          {"non_blocking", false},
          {"memory_format", std::monostate()}};
}

ValueId expanded(Rewriter& in, ValueId x, const Shape& shape) {
  if (in.shape(x) == shape) return x;
  return in.move(AtenOp::expand_default, {x}, {{"size", dims_of(shape)}, {"implicit", false}}, shape);
}

}  // namespace carina::normalize
