// Decomposes gather and scatter operators. Every form becomes index.Tensor or index_put with an index for each of the
// first axes; the remaining axes are merged to one. If the indices are constant, the result is a concatenation of
// slices.

#include <algorithm>
#include <numeric>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/indexed_axes_internal.h"
#include "normalize/place_selection_internal.h"
#include "normalize/slices.h"
#include "tensor/filled_tensor.h"

namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;
using Ids = std::vector<ValueId>;

bool is_mask(const Rewriter& in, ValueId id) {
  return id.valid() && (in[id].dtype == DType::kBool || in[id].dtype == DType::kUInt8);
}
bool has_mask(const Rewriter& in, const Ids& indices) {
  return std::ranges::any_of(indices, [&](ValueId id) { return is_mask(in, id); });
}

// The indices of index.Tensor and index_put, one for each axis of the tensor. Indices of the last axes may be missing.
Ids indices_of(const Rewriter& in, const Node& node, size_t after) {
  Ids indices(node.inputs.begin() + 1, node.inputs.end() - static_cast<ptrdiff_t>(after));
  indices.resize(std::max(indices.size(), in.shape(node.inputs[0]).rank()));
  return indices;
}

// Gathers rows by an index that is computed at run time.
ValueId gathered(Rewriter& in, const IndexedAxes& axes, ValueId x, const Ids& indices) {
  Ids inputs{axes.rows_of(in, x)};
  for (const size_t axis : axes.indexed()) inputs.push_back(indices[axis]);
  Ints result = dims_of(axes.chosen());
  result.push_back(axes.inner());
  return in.move(AtenOp::index_Tensor, inputs, {}, Shape(result));
}

// Gathers rows by a constant index, in the order of the node's result, as slices or as one index list.
ValueId taken(Rewriter& in, const IndexedAxes& axes, ValueId x, const Ints& row_numbers) {
  if (const auto slices = take(in, axes.blocks_of(in, x), 1, row_numbers)) return *slices;
  const ValueId rows = in.view(axes.rows_of(in, x), Shape{axes.row_count(), axes.inner()});
  const ValueId index = in.constant("index", Tensor::of<int64_t>(DType::kInt64, Shape{axes.count()}, row_numbers));
  const ValueId chosen = in.move(AtenOp::index_Tensor, {rows, index}, {}, Shape{axes.count(), axes.inner()});
  return axes.chosen_of(in, chosen);
}

Result<bool> index(Rewriter& in, const Node& node) {
  const Ids indices = indices_of(in, node, 0);
  const Shape shape = in.shape(node.inputs[0]);
  if (has_mask(in, indices) || shape.elements() == 0 || in.shape(node.outputs[0]).elements() == 0) return false;
  const auto axes = IndexedAxes::of(in, shape, indices);
  if (!axes) return false;
  const auto row_numbers = axes->known_rows(in, indices);
  const bool known = row_numbers.has_value() && axes->indexed().size() == 1 && is_long(*row_numbers);
  if (axes->are_rows(shape) && (known || !row_numbers)) return false;
  const ValueId x = node.inputs[0];
  return rewritten(in.view_into(node.outputs[0], row_numbers ? taken(in, *axes, x, *row_numbers)
                                                             : axes->chosen_of(in, gathered(in, *axes, x, indices))));
}

// Writes along the second axis. If every index is written once, tensor and values are concatenated and gathered in
// their new order.
ValueId put_at(Rewriter& in, ValueId x, ValueId values, const Ints& row_numbers) {
  const int64_t all = in.shape(x)[1];
  Ints order(static_cast<size_t>(all));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (size_t i = 0; i < row_numbers.size(); ++i)
    order[static_cast<size_t>(row_numbers[i])] = all + static_cast<int64_t>(i);
  return take_or_gather(in, join(in, {x, values}, 1), 1, order);
}

// Adds values in rounds: an index that occurs n times is written in n rounds.
ValueId add_at(Rewriter& in, ValueId x, ValueId values, const Ints& row_numbers) {
  Ints left(row_numbers.size());
  std::iota(left.begin(), left.end(), int64_t{0});
  while (!left.empty()) {
    Ints now, later, at;
    std::vector<bool> seen(static_cast<size_t>(in.shape(x)[1]), false);
    for (const int64_t i : left) {
      const auto row = static_cast<size_t>(row_numbers[static_cast<size_t>(i)]);
      (seen[row] ? later : now).push_back(i);
      if (!seen[row]) at.push_back(static_cast<int64_t>(row));
      seen[row] = true;
    }
    const ValueId more = take_or_gather(in, values, 1, now), before = take_or_gather(in, x, 1, at);
    const ValueId sum = in.make(AtenOp::add_Tensor, {before, more}, no_alpha(), in.shape(more));
    if (in[x].quantization) in.graph()[sum].quantization = in[x].quantization;
    x = put_at(in, x, sum, at);
    left = later;
  }
  return x;
}

// x[mask] = value, as a selection if the value has one element.
Result<bool> put_by_mask(Rewriter& in, const Node& node, const Ids& indices) {
  const ValueId x = node.inputs[0], values = node.inputs.back();
  const auto mask = std::ranges::find_if(indices, &ValueId::valid);
  const bool alone = std::count_if(indices.begin(), indices.end(), [](ValueId id) { return id.valid(); }) == 1;
  if (!alone || in.shape(values).elements() != 1 || in[*mask].dtype != DType::kBool ||
      node.attributes.get<bool>("accumulate"))
    return false;
  const size_t rank = in.shape(x).rank(), before = static_cast<size_t>(mask - indices.begin());
  Ints dims(rank, 1);
  std::ranges::copy(in.shape(*mask).dims(), dims.begin() + static_cast<ptrdiff_t>(before));
  const ValueId value = in.view(values, Shape(Ints(rank, 1)));
  return rewritten(in.define(node.outputs[0], AtenOp::where_self, {in.view(*mask, Shape(dims)), value, x}, {}));
}

ValueId put_rows(Rewriter& in, const Node& node, const IndexedAxes& axes, const Ids& indices) {
  Ids inputs{axes.rows_of(in, node.inputs[0])};
  for (const size_t axis : axes.indexed()) inputs.push_back(indices[axis]);
  inputs.push_back(axes.chosen_rows_of(in, expanded(in, node.inputs.back(), axes.chosen_shape())));
  const ValueId result =
      in.make(AtenOp::index_put_default, inputs, node.attributes, axes.rows_shape(in.shape(node.inputs[0])));
  if (in[node.outputs[0]].quantization) in.graph()[result].quantization = in[node.outputs[0]].quantization;
  return axes.whole_of(in, result, in.shape(node.inputs[0]));
}

ValueId put_known(Rewriter& in, const Node& node, const IndexedAxes& axes, const Ints& row_numbers) {
  const ValueId x = axes.blocks_of(in, node.inputs[0]);
  const ValueId values = axes.chosen_blocks_of(in, expanded(in, node.inputs.back(), axes.chosen_shape()));
  const ValueId result =
      node.attributes.get<bool>("accumulate") ? add_at(in, x, values, row_numbers) : put_at(in, x, values, row_numbers);
  return axes.whole_of_blocks(in, result, in.shape(node.inputs[0]));
}

Result<bool> index_put(Rewriter& in, const Node& node) {
  const Ids indices = indices_of(in, node, 1);
  const Shape shape = in.shape(node.inputs[0]);
  if (has_mask(in, indices)) return put_by_mask(in, node, indices);
  const auto axes = IndexedAxes::of(in, shape, indices);
  if (!axes || shape.elements() == 0 || axes->count() == 0) return false;
  Ints values = dims_of(axes->chosen());
  values.push_back(axes->inner());
  const bool plain = axes->are_rows(shape) && in.shape(node.inputs.back()) == Shape(values);
  const auto row_numbers = axes->known_rows(in, indices);
  if (!row_numbers && !node.attributes.get<bool>("accumulate")) {
    const ValueId values_there = expanded(in, node.inputs.back(), axes->chosen_shape());
    if (const auto whole =
            with_selected_places(in, node.inputs[0], *axes, indices[axes->indexed().front()], values_there))
      return rewritten(in.view_into(node.outputs[0], *whole));
  }
  if (plain && !row_numbers) return false;
  return rewritten(in.view_into(
      node.outputs[0], row_numbers ? put_known(in, node, *axes, *row_numbers) : put_rows(in, node, *axes, indices)));
}

// Indexes one axis; the other axes stay whole.
Ids along(size_t axis, ValueId index) {
  Ids indices(axis);
  indices.push_back(index);
  return indices;
}

ValueId as_list(Rewriter& in, ValueId index) {
  return in.view(index, Shape{in.shape(index).elements()});
}

Result<bool> select_rows(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  if (shape.rank() == 0) return false;
  Ids inputs = along(axis_of(node.attributes.integer("dim"), shape.rank()), as_list(in, node.inputs[1]));
  inputs.insert(inputs.begin(), node.inputs[0]);
  return rewritten(in.define(node.outputs[0], AtenOp::index_Tensor, inputs, {}));
}

Result<bool> embedding(Rewriter& in, const Node& node) {
  return rewritten(in.define(node.outputs[0], AtenOp::index_Tensor, {node.inputs[0], node.inputs[1]}, {}));
}

Result<bool> take_flat(Rewriter& in, const Node& node) {
  const ValueId flat = in.view(node.inputs[0], Shape{in.shape(node.inputs[0]).elements()});
  return rewritten(in.define(node.outputs[0], AtenOp::index_Tensor, {flat, node.inputs[1]}, {}));
}

// Indexes `axis`. Along the other axes every element has its own index.
Ids at_own_indices(Rewriter& in, const Shape& shape, size_t axis, ValueId index) {
  Ids indices;
  for (size_t i = 0; i < shape.rank(); ++i) {
    Ints own(static_cast<size_t>(shape[i])), dims(shape.rank(), 1);
    std::iota(own.begin(), own.end(), int64_t{0});
    dims[i] = shape[i];
    indices.push_back(i == axis ? index : in.constant("places", Tensor::of<int64_t>(DType::kInt64, Shape(dims), own)));
  }
  return indices;
}

Result<bool> gather(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[1]);
  if (shape.rank() == 0 || shape.elements() == 0) return false;
  Ids inputs = at_own_indices(in, shape, axis_of(node.attributes.integer("dim"), shape.rank()), node.inputs[1]);
  inputs.insert(inputs.begin(), node.inputs[0]);
  return rewritten(in.define(node.outputs[0], AtenOp::index_Tensor, inputs, {}));
}

// The operands are broadcast, except along the axis.
Result<bool> take_along_dim(Rewriter& in, const Node& node) {
  if (node.attributes.is_none("dim")) return take_flat(in, node);
  Shape tensor = in.shape(node.inputs[0]), row_numbers = in.shape(node.inputs[1]);
  if (tensor.rank() != row_numbers.rank() || tensor.rank() == 0) return false;
  const size_t axis = axis_of(node.attributes.integer("dim"), tensor.rank());
  for (size_t i = 0; i < tensor.rank(); ++i) {
    if (i != axis) tensor[i] = row_numbers[i] = std::max(tensor[i], row_numbers[i]);
  }
  return rewritten(in.define(node.outputs[0], AtenOp::gather_default,
                             {expanded(in, node.inputs[0], tensor), expanded(in, node.inputs[1], row_numbers)},
                             {{"dim", static_cast<int64_t>(axis)}, {"sparse_grad", false}}));
}

Result<bool> put(Rewriter& in, const Node& node, const Ids& indices, ValueId values, bool accumulate) {
  Ids inputs{node.inputs[0]};
  inputs.insert(inputs.end(), indices.begin(), indices.end());
  inputs.push_back(values);
  return rewritten(in.define(node.outputs[0], AtenOp::index_put_default, inputs, {{"accumulate", accumulate}}));
}

// The node's `value` with the type of the tensor.
ValueId number(Rewriter& in, const Node& node) {
  const DType type = in[node.inputs[0]].dtype;
  const double value = node.attributes.number("value");
  return in.constant(node.name + "_value", filled_tensor(type, {}, value));
}

template <bool kAdds>
Result<bool> scatter(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[1]);
  if (shape.rank() == 0 || shape.elements() == 0) return false;
  const Ids indices = at_own_indices(in, shape, axis_of(node.attributes.integer("dim"), shape.rank()), node.inputs[1]);
  if (node.inputs.size() < 3) return put(in, node, indices, number(in, node), kAdds);
  ValueId values = node.inputs[2];
  for (size_t axis = 0; axis < shape.rank(); ++axis) values = slice(in, values, axis, 0, shape[axis]);
  return put(in, node, indices, values, kAdds);
}

Result<bool> index_copy(Rewriter& in, const Node& node) {
  const size_t rank = in.shape(node.inputs[0]).rank();
  if (rank == 0) return false;
  return put(in, node, along(axis_of(node.attributes.integer("dim"), rank), as_list(in, node.inputs[1])),
             node.inputs[2], false);
}

Result<bool> index_add(Rewriter& in, const Node& node) {
  const size_t rank = in.shape(node.inputs[0]).rank();
  if (rank == 0) return false;
  ValueId values = node.inputs[2];
  if (const double alpha = node.attributes.number("alpha"); alpha != 1)
    values = in.make(AtenOp::mul_Tensor, {values, in.scalar(alpha, in[values].dtype)}, {}, in.shape(values));
  return put(in, node, along(axis_of(node.attributes.integer("dim"), rank), as_list(in, node.inputs[1])), values, true);
}

Result<bool> index_fill(Rewriter& in, const Node& node) {
  const size_t rank = in.shape(node.inputs[0]).rank();
  if (rank == 0) return false;
  const ValueId value = node.inputs.size() > 2 ? node.inputs[2] : number(in, node);
  return put(in, node, along(axis_of(node.attributes.integer("dim"), rank), as_list(in, node.inputs[1])), value, false);
}

template <AtenOp kTo>
Result<bool> the_same(Rewriter& in, const Node& node) {
  return rewritten(in.define(node.outputs[0], kTo, node.inputs, node.attributes));
}

constexpr RewriteRow kDecomposeIndexingRows[] = {
    {AtenOp::index_Tensor, index},
    {AtenOp::_unsafe_index_Tensor, the_same<AtenOp::index_Tensor>},
    {AtenOp::index_put_default, index_put},
    {AtenOp::_unsafe_index_put_default, the_same<AtenOp::index_put_default>},
    {AtenOp::index_select_default, select_rows},
    {AtenOp::embedding_default, embedding},
    {AtenOp::take_default, take_flat},
    {AtenOp::take_along_dim_default, take_along_dim},
    {AtenOp::gather_default, gather},
    {AtenOp::scatter_src, scatter<false>},
    {AtenOp::scatter_value, scatter<false>},
    {AtenOp::scatter_add_default, scatter<true>},
    {AtenOp::index_copy_default, index_copy},
    {AtenOp::index_add_default, index_add},
    {AtenOp::index_fill_int_Scalar, index_fill},
    {AtenOp::index_fill_int_Tensor, index_fill},
};
static_assert(rewrites_what_becomes(kDecomposeIndexingRows));

}  // namespace

std::span<const RewriteRow> indexing_rewrites() {
  return kDecomposeIndexingRows;
}

}  // namespace carina::normalize
