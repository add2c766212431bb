// Indexed rows for the CPU: row numbers are computed first, and a single index list selects the rows.

#include <algorithm>

#include "normalize/core_aten_internal.h"
#include "normalize/indexed_axes_internal.h"
#include "tensor/elements.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

// Converts an index to int64, which every kernel supports.
ValueId wide_index(Rewriter& in, ValueId index) {
  if (in[index].dtype == DType::kInt64) return index;
  if (in[index].constant)
    return in.constant(in[index].name + "_int64",
                       Tensor::of<int64_t>(DType::kInt64, in.shape(index), integers_of(*in[index].constant)));
  ir::Value wide{.name = in[index].name + "_int64",
                 .dtype = DType::kInt64,
                 .shape = in.shape(index),
                 .quantization = {},
                 .constant = {}};
  return in.make_value(AtenOp::_to_copy_default, {index}, to_copy_attributes(DType::kInt64), std::move(wide));
}

// Combines the indices of all axes to one list of row numbers. Negative indices count from the end.
ValueId listed_rows(Rewriter& in, std::span<const ValueId> indices, const Shape& sizes, const Shape& chosen) {
  ValueId number;
  int64_t stride = 1;
  for (size_t axis = indices.size(); axis-- > 0; stride *= sizes[axis]) {
    const ValueId wide = wide_index(in, indices[axis]);
    const Shape shape = in.shape(wide);
    ValueId index = in.make(AtenOp::remainder_Scalar, {wide}, {{"other", sizes[axis]}}, shape);
    if (stride > 1)
      index = in.make(AtenOp::mul_Tensor, {index, in.scalar(static_cast<double>(stride), DType::kInt64)}, {}, shape);
    const auto both = number.valid() ? broadcast_of_ranks(in.shape(number), shape) : shape;
    number = number.valid() ? in.make(AtenOp::add_Tensor, {number, index}, no_alpha(), both.value()) : index;
  }
  return in.view(expanded(in, number, chosen), Shape{chosen.elements()});
}

struct List {
  ValueId rows;  // [rows, inner]
  ValueId row_indices;
  int64_t inner;
};

List list_of(Rewriter& in, const Node& node, size_t after, const Shape& result) {
  const Shape shape = in.shape(node.inputs[0]);
  const int64_t inner = shape[shape.rank() - 1];
  const std::span<const ValueId> indices = std::span(node.inputs).subspan(1, node.inputs.size() - 1 - after);
  const Shape chosen(Ints(result.dims().begin(), result.dims().end() - 1));
  return {.rows = in.view(node.inputs[0], Shape{shape.elements() / inner, inner}),
          .row_indices = listed_rows(in, indices, shape, chosen),
          .inner = inner};
}

bool are_rows(const Rewriter& in, const Node& node, size_t after) {
  const auto first = node.inputs.begin() + 1, last = node.inputs.end() - static_cast<ptrdiff_t>(after);
  return static_cast<size_t>(last - first) + 1 == in.shape(node.inputs[0]).rank() &&
         std::all_of(first, last, [&](ValueId id) { return id.valid() && is_integer(in[id].dtype); });
}

Result<bool> index_for_cpu(Rewriter& in, const Node& node) {
  if (!are_rows(in, node, 0)) return false;
  const List list = list_of(in, node, 0, in.shape(node.outputs[0]));
  const ValueId chosen = in.move(AtenOp::index_select_default, {list.rows, list.row_indices}, {{"dim", int64_t{0}}},
                                 Shape{in.shape(list.row_indices).elements(), list.inner});
  return rewritten(in.view_into(node.outputs[0], chosen));
}

Result<bool> index_put_for_cpu(Rewriter& in, const Node& node) {
  if (!are_rows(in, node, 1)) return false;
  const List list = list_of(in, node, 1, in.shape(node.inputs.back()));
  const Shape values{in.shape(list.row_indices).elements(), list.inner};
  const ValueId row_indices = expanded(in, in.view(list.row_indices, Shape{values[0], 1}), values);
  const bool adds = node.attributes.get<bool>("accumulate");
  const ValueId rows = in.move(adds ? AtenOp::scatter_add_default : AtenOp::scatter_src,
                               {list.rows, row_indices, in.view(node.inputs.back(), values)}, {{"dim", int64_t{0}}},
                               in.shape(list.rows));
  return rewritten(in.view_into(node.outputs[0], rows));
}

constexpr RewriteRow kCoreAtenIndexingRows[] = {
    {AtenOp::index_Tensor, index_for_cpu},
    {AtenOp::index_put_default, index_put_for_cpu},
};

}  // namespace

std::span<const RewriteRow> core_aten_indexing() {
  return kCoreAtenIndexingRows;
}

}  // namespace carina::normalize
