// What:   data movement of constants is done at compile time, so weights after a view are constants.
// Before: %v = aten.view.default(%w, size=[8,4,1,3]); %y = aten.conv2d.default(%x, %v)
// After:  %y = aten.conv2d.default(%x, %v), where %v is a constant
// Needs:  one-spelling (canonicalize).
// Gives:  no view, permute or slice of a constant, except views that would mix channels with different scales.
// Legal:  the elements are the same; parameters per channel stay with their axis.

#include <algorithm>

#include "facts/aten_traits.h"
#include "normalize/axes.h"
#include "normalize/passes_internal.h"
#include "normalize/rewriter.h"
#include "tensor/permutation.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

// The constant that a data-movement node makes of its constant input.
struct Moved {
  Tensor tensor;
  std::optional<Quantization> quantization;
};

bool is_movable(const Rewriter& in, const Node& node) {
  const ir::Value &from = in[node.inputs[0]], &to = in[node.outputs[0]];
  const auto dims = to.shape.dims();
  return from.constant && from.shape.rank() > 0 && !to.quantization && from.dtype == to.dtype &&
         std::ranges::all_of(dims, [](int64_t n) { return n > 0; });
}

Result<bool> replace_with_moved(Rewriter& in, const Node& node, Moved moved) {
  ir::Value& to = in.graph()[node.outputs[0]];
  to.constant = std::move(moved.tensor);
  to.quantization = std::move(moved.quantization);
  return true;
}

// The axis of `to` with the same elements as axis `axis` of `from`.
std::optional<int> same_axis(const Shape& from, size_t axis, const Shape& to) {
  int64_t outer = 1;
  for (size_t i = 0; i < axis; ++i) outer *= from[i];
  for (size_t i = 0; i < to.rank(); ++i) {
    if (outer == 1 && to[i] == from[axis]) return static_cast<int>(i);
    if (outer % to[i] != 0) return std::nullopt;
    outer /= to[i];
  }
  return std::nullopt;
}

Result<bool> move_view(Rewriter& in, const Node& node) {
  if (!is_movable(in, node)) return false;
  const ir::Value& from = in[node.inputs[0]];
  const Shape& shape = in.shape(node.outputs[0]);
  Moved moved{.tensor = *from.constant, .quantization = from.quantization};
  if (moved.quantization && moved.quantization->per_channel()) {
    const auto axis = same_axis(from.shape, static_cast<size_t>(moved.quantization->axis), shape);
    if (!axis) return false;
    moved.quantization->axis = *axis;
  }
  moved.tensor.shape = shape;
  return replace_with_moved(in, node, std::move(moved));
}

Result<bool> move_permute(Rewriter& in, const Node& node) {
  if (!is_movable(in, node)) return false;
  const ir::Value& from = in[node.inputs[0]];
  Perms perms;
  for (const int64_t axis : node.attributes.integers("dims"))
    perms.push_back(static_cast<int64_t>(axis_of(axis, from.shape.rank())));
  Moved moved{.tensor = permuted(*from.constant, perms), .quantization = from.quantization};
  if (moved.quantization && moved.quantization->per_channel())
    moved.quantization->axis = static_cast<int>(std::ranges::find(perms, moved.quantization->axis) - perms.begin());
  return replace_with_moved(in, node, std::move(moved));
}

// The rows [first, first + count) along an axis.
Tensor rows_along(const Tensor& tensor, size_t axis, int64_t first, int64_t count) {
  const Shape outer_shape(tensor.shape.dims().first(axis));
  Shape shape = tensor.shape;
  shape[axis] = count;
  MutableTensor rows(tensor.dtype, shape);
  const auto outer = static_cast<size_t>(outer_shape.elements());
  const size_t whole = tensor.data.size() / outer, row = whole / static_cast<size_t>(tensor.shape[axis]);
  const size_t part = row * static_cast<size_t>(count);
  for (size_t o = 0; o < outer; ++o) {
    const auto from = tensor.data.bytes().subspan(o * whole + static_cast<size_t>(first) * row, part);
    std::ranges::copy(from, rows.bytes().begin() + static_cast<ptrdiff_t>(o * part));
  }
  return std::move(rows).freeze();
}

Result<bool> move_slice(Rewriter& in, const Node& node) {
  if (!is_movable(in, node) || node.attributes.integer("step") != 1) return false;
  const ir::Value& from = in[node.inputs[0]];
  const size_t axis = axis_of(node.attributes.integer("dim"), from.shape.rank());
  const int64_t size = from.shape[axis], count = in.shape(node.outputs[0])[axis];
  int64_t first = node.attributes.is_none("start") ? 0 : node.attributes.integer("start");
  first = std::clamp<int64_t>(first < 0 ? first + size : first, 0, size - count);
  Moved moved{.tensor = rows_along(*from.constant, axis, first, count), .quantization = from.quantization};
  if (moved.quantization && moved.quantization->per_channel() && moved.quantization->axis == static_cast<int>(axis)) {
    Quantization& q = *moved.quantization;
    q.scales = {q.scales.begin() + first, q.scales.begin() + first + count};
    q.zero_points = {q.zero_points.begin() + first, q.zero_points.begin() + first + count};
  }
  return replace_with_moved(in, node, std::move(moved));
}

constexpr RewriteRow kMoveConstantsRows[] = {
    {AtenOp::view_default, move_view},
    {AtenOp::permute_default, move_permute},
    {AtenOp::slice_Tensor, move_slice},
};

}  // namespace

std::span<const RewriteRow> moved_constant_rows() {
  return kMoveConstantsRows;
}

Result<void> fold_constant_layout(ir::Graph& graph, const Log&) {
  return Rewriter(graph, kMoveConstantsRows).run();
}

}  // namespace carina::normalize
