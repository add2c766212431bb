// Rewrites operators that select parts of tensors to slices whose start and end are in range.

#include <algorithm>

#include "normalize/canonicalize_internal.h"

namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

struct Span {
  size_t axis;
  int64_t start;
  int64_t end;
  int64_t step;
};

Attributes slice_attributes(const Span& span) {
  return {{"dim", static_cast<int64_t>(span.axis)}, {"start", span.start}, {"end", span.end}, {"step", span.step}};
}

Span span_of(const Attributes& attributes, const Shape& shape) {
  const size_t axis = axis_of(attributes.integer("dim"), shape.rank());
  const int64_t size = shape[axis];
  const auto bound = [&](std::string_view name, int64_t otherwise) {
    if (attributes.is_none(name)) return otherwise;
    const int64_t value = attributes.integer(name);
    return std::clamp<int64_t>(value < 0 ? value + size : value, 0, size);
  };
  const int64_t start = bound("start", 0);
  return {.axis = axis, .start = start, .end = std::max(start, bound("end", size)), .step = attributes.integer("step")};
}

Result<bool> normal_slice(Rewriter& in, const Node& node) {
  const Attributes normal = slice_attributes(span_of(node.attributes, in.shape(node.inputs[0])));
  const bool same = std::ranges::all_of(normal.list(), [&](const auto& entry) {
    const ir::Attribute* now = node.attributes.find(entry.first);
    return now != nullptr && *now == entry.second;
  });
  if (node.op == ir::Op(AtenOp::slice_Tensor) && same) return false;
  return rewritten(in.define(node.outputs[0], AtenOp::slice_Tensor, {node.inputs[0]}, normal));
}

Result<bool> narrow_to_slice(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  const size_t axis = axis_of(node.attributes.integer("dim"), shape.rank());
  int64_t start = node.attributes.integer("start");
  if (start < 0) start += shape[axis];
  const Span span{.axis = axis, .start = start, .end = start + node.attributes.integer("length"), .step = 1};
  return rewritten(in.define(node.outputs[0], AtenOp::slice_Tensor, {node.inputs[0]}, slice_attributes(span)));
}

// Selects one index of an axis and removes the axis.
Result<void> pick(Rewriter& in, ValueId output, ValueId input, size_t axis, int64_t index) {
  Shape one = in.shape(input);
  one[axis] = 1;
  const Span span{.axis = axis, .start = index, .end = index + 1, .step = 1};
  return in.view_into(output, in.move(AtenOp::slice_Tensor, {input}, slice_attributes(span), one));
}

Result<bool> select_to_slice(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  const size_t axis = axis_of(node.attributes.integer("dim"), shape.rank());
  const int64_t index = node.attributes.integer("index");
  return rewritten(pick(in, node.outputs[0], node.inputs[0], axis, index < 0 ? index + shape[axis] : index));
}

Result<bool> unbind_to_slices(Rewriter& in, const Node& node) {
  const size_t axis = axis_of(node.attributes.integer("dim"), in.shape(node.inputs[0]).rank());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid())
      CARINA_CHECKED(pick(in, node.outputs[i], node.inputs[0], axis, static_cast<int64_t>(i)));
  }
  return true;
}

// Rewrites split, chunk and similar operators. The sizes of the parts are in the outputs' shapes.
Result<bool> split_to_slices(Rewriter& in, const Node& node) {
  const size_t axis = axis_of(node.attributes.integer("dim"), in.shape(node.inputs[0]).rank());
  int64_t start = 0;
  for (const ValueId output : node.outputs) {
    if (!output.valid()) return fail(about(node, "a part of a split has no value"));
    const Span span{.axis = axis, .start = start, .end = start + in.shape(output)[axis], .step = 1};
    start = span.end;
    CARINA_CHECKED(in.define(output, AtenOp::slice_Tensor, {node.inputs[0]}, slice_attributes(span)));
  }
  return true;
}

constexpr RewriteRow kCanonicalizeSlicesRows[] = {
    {AtenOp::slice_Tensor, normal_slice},
    {AtenOp::slice_copy_Tensor, normal_slice},
    {AtenOp::narrow_default, narrow_to_slice},
    {AtenOp::narrow_copy_default, narrow_to_slice},
    {AtenOp::select_int, select_to_slice},
    {AtenOp::select_copy_int, select_to_slice},
    {AtenOp::unbind_int, unbind_to_slices},
    {AtenOp::unbind_copy_int, unbind_to_slices},
    {AtenOp::split_Tensor, split_to_slices},
    {AtenOp::split_sizes, split_to_slices},
    {AtenOp::split_copy_Tensor, split_to_slices},
    {AtenOp::split_with_sizes_default, split_to_slices},
    {AtenOp::split_with_sizes_copy_default, split_to_slices},
    {AtenOp::chunk_default, split_to_slices},
    {AtenOp::split_default, split_to_slices},
    {AtenOp::unsafe_split_Tensor, split_to_slices},
    {AtenOp::unsafe_split_with_sizes_default, split_to_slices},
    {AtenOp::unsafe_chunk_default, split_to_slices},
    {AtenOp::tensor_split_sections, split_to_slices},
    {AtenOp::tensor_split_indices, split_to_slices},
};
static_assert(rewrites_what_becomes(kCanonicalizeSlicesRows));

}  // namespace

std::span<const RewriteRow> canonical_slices() {
  return kCanonicalizeSlicesRows;
}

}  // namespace carina::normalize
