// Decomposes operators that replace a part of a tensor: concatenates the elements before it, the new part, and the
// elements after it.

#include <algorithm>
#include <numeric>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/indexed_axes_internal.h"
#include "normalize/slices.h"
#include "tensor/elements.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

struct Part {
  size_t axis;
  int64_t start;
  int64_t count;
  int64_t step;
};

// With step 1, concatenates three parts. With larger steps, concatenates old and new elements and gathers them in their
// new order.
Result<bool> replaced(Rewriter& in, const Node& node, ValueId source, const Part& part) {
  const ValueId x = node.inputs[0];
  const int64_t size = in.shape(x)[part.axis];
  if (part.count == 0) return rewritten(in.view_into(node.outputs[0], x));
  if (part.step == 1 || part.count == 1) {
    std::vector<ValueId> parts;
    if (part.start > 0) parts.push_back(slice(in, x, part.axis, 0, part.start));
    parts.push_back(source);
    const int64_t end = part.start + part.count;
    if (end < size) parts.push_back(slice(in, x, part.axis, end, size));
    return rewritten(in.view_into(node.outputs[0], join(in, parts, part.axis)));
  }
  Ints order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t i = 0; i < part.count; ++i) order[static_cast<size_t>(part.start + i * part.step)] = size + i;
  return rewritten(
      in.view_into(node.outputs[0], take_or_gather(in, join(in, {x, source}, part.axis), part.axis, order)));
}

Result<bool> select_scatter(Rewriter& in, const Node& node) {
  Shape shape = in.shape(node.inputs[0]);
  if (shape.elements() == 0) return false;
  const size_t axis = axis_of(node.attributes.integer("dim"), shape.rank());
  const int64_t index = node.attributes.integer("index");
  const Part part{.axis = axis, .start = index < 0 ? index + shape[axis] : index, .count = 1, .step = 1};
  shape[axis] = 1;
  return replaced(in, node, in.view(node.inputs[1], shape), part);
}

Result<bool> slice_scatter(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  if (shape.elements() == 0) return false;
  const size_t axis = axis_of(node.attributes.integer("dim"), shape.rank());
  const auto bound = [&](std::string_view name, int64_t otherwise) {
    if (node.attributes.is_none(name)) return otherwise;
    const int64_t value = node.attributes.integer(name);
    return std::clamp<int64_t>(value < 0 ? value + shape[axis] : value, 0, shape[axis]);
  };
  const int64_t start = bound("start", 0), step = node.attributes.integer("step");
  const int64_t end = std::max(start, bound("end", shape[axis]));
  Shape part = shape;
  part[axis] = (end - start + step - 1) / step;
  return replaced(in, node, part.elements() == 0 ? node.inputs[1] : expanded(in, node.inputs[1], part),
                  {.axis = axis, .start = start, .count = part[axis], .step = step});
}

// Rewrites to index_put with constant indices. The axes of the diagonal come first.
Result<bool> diagonal_scatter(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]), source = in.shape(node.inputs[1]);
  const size_t rank = shape.rank();
  const size_t down = axis_of(node.attributes.integer("dim1"), rank),
               right = axis_of(node.attributes.integer("dim2"), rank);
  const int64_t offset = node.attributes.integer("offset"), count = source[source.rank() - 1];
  if (source.elements() == 0) return rewritten(in.view_into(node.outputs[0], node.inputs[0]));
  Ints rows(static_cast<size_t>(count)), columns(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), std::max<int64_t>(0, -offset));
  std::iota(columns.begin(), columns.end(), std::max<int64_t>(0, offset));
  std::vector<ValueId> inputs{node.inputs[0]};
  inputs.resize(rank + 1);
  inputs[1 + down] = in.constant("rows", Tensor::of<int64_t>(DType::kInt64, Shape{count}, rows));
  inputs[1 + right] = in.constant("columns", Tensor::of<int64_t>(DType::kInt64, Shape{count}, columns));
  // The position of the diagonal's axis in x[rows, columns]: between its neighbors if both axes are adjacent, otherwise
  // first.
  const size_t first = std::min(down, right), position = std::max(down, right) == first + 1 ? first : 0;
  Ints order;
  for (size_t i = 0; i + 1 < source.rank(); ++i) order.push_back(static_cast<int64_t>(i));
  order.insert(order.begin() + static_cast<ptrdiff_t>(position), static_cast<int64_t>(source.rank() - 1));
  Ints dims;
  for (const int64_t axis : order) dims.push_back(source[static_cast<size_t>(axis)]);
  inputs.push_back(in.move(AtenOp::permute_default, {node.inputs[1]}, {{"dims", order}}, Shape(dims)));
  return rewritten(in.define(node.outputs[0], AtenOp::index_put_default, inputs, {{"accumulate", false}}));
}

Result<bool> copy(Rewriter& in, const Node& node) {
  const ir::Value result = in[node.outputs[0]];
  ValueId source = node.inputs[1];
  if (in[source].dtype != result.dtype) {
    ir::Value converted{.name = node.name + "_to",
                        .dtype = result.dtype,
                        .shape = in.shape(source),
                        .quantization = {},
                        .constant = {}};
    source = in.make_value(AtenOp::_to_copy_default, {source}, to_copy_attributes(result.dtype), std::move(converted));
  }
  return rewritten(in.view_into(node.outputs[0], expanded(in, source, result.shape)));
}

Result<bool> fill(Rewriter& in, const Node& node) {
  if (in[node.inputs[1]].dtype != in[node.outputs[0]].dtype) return false;
  return rewritten(in.view_into(node.outputs[0], expanded(in, node.inputs[1], in.shape(node.outputs[0]))));
}

// Repeats each element by a constant number of times.
Result<bool> repeat_by_constant(Rewriter& in, const Node& node) {
  const ir::Value repeats = in[node.inputs[1]];
  const Shape shape = in.shape(node.inputs[0]);
  if (!repeats.constant || shape.elements() == 0 || in.shape(node.outputs[0]).elements() == 0) return false;
  const bool flat = node.attributes.is_none("dim");
  const ValueId x = flat ? in.view(node.inputs[0], Shape{shape.elements()}) : node.inputs[0];
  const size_t axis = flat ? 0 : axis_of(node.attributes.integer("dim"), shape.rank());
  const Ints times = integers_of(*repeats.constant);
  Ints indices;
  for (int64_t i = 0; i < in.shape(x)[axis]; ++i)
    indices.insert(indices.end(), static_cast<size_t>(times[times.size() == 1 ? 0 : static_cast<size_t>(i)]), i);
  return rewritten(in.view_into(node.outputs[0], take_or_gather(in, x, axis, indices)));
}

constexpr RewriteRow kDecomposeScattersRows[] = {
    {AtenOp::select_scatter_default, select_scatter},
    {AtenOp::slice_scatter_default, slice_scatter},
    {AtenOp::diagonal_scatter_default, diagonal_scatter},
    {AtenOp::copy_default, copy},
    {AtenOp::fill_Tensor, fill},
    {AtenOp::repeat_interleave_self_Tensor, repeat_by_constant},
};
static_assert(rewrites_what_becomes(kDecomposeScattersRows));

}  // namespace

std::span<const RewriteRow> scatter_rewrites() {
  return kDecomposeScattersRows;
}

}  // namespace carina::normalize
