// Rewrites reshapes, transpositions, repetitions and concatenations.

#include <algorithm>

#include "normalize/canonicalize_internal.h"

namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

// Rewrites any operator whose output has the input's elements in the same order.
Result<bool> to_view(Rewriter& in, const Node& node) {
  return rewritten(in.view_into(node.outputs[0], node.inputs[0]));
}

Result<bool> permute_by(Rewriter& in, const Node& node, const std::vector<int64_t>& dims) {
  return rewritten(in.define(node.outputs[0], AtenOp::permute_default, {node.inputs[0]}, {{"dims", dims}}));
}

Result<bool> swap_to_permute(Rewriter& in, const Node& node, size_t a, size_t b) {
  std::vector<int64_t> dims = identity_order(in.shape(node.inputs[0]).rank());
  if (!dims.empty()) std::swap(dims[a], dims[b]);
  return permute_by(in, node, dims);
}

template <const char* kFirst, const char* kSecond>
Result<bool> transpose_to_permute(Rewriter& in, const Node& node) {
  const size_t rank = in.shape(node.inputs[0]).rank();
  return swap_to_permute(in, node, axis_of(node.attributes.integer(kFirst), rank),
                         axis_of(node.attributes.integer(kSecond), rank));
}
constexpr char kDim0[] = "dim0", kDim1[] = "dim1", kAxis0[] = "axis0", kAxis1[] = "axis1";

Result<bool> t_to_permute(Rewriter& in, const Node& node) {
  return swap_to_permute(in, node, 0, in.shape(node.inputs[0]).rank() == 2 ? 1 : 0);
}

Result<bool> reversed_to_permute(Rewriter& in, const Node& node) {
  std::vector<int64_t> dims = identity_order(in.shape(node.inputs[0]).rank());
  std::ranges::reverse(dims);
  return permute_by(in, node, dims);
}

Result<bool> move_axes(Rewriter& in, const Node& node) {
  const size_t rank = in.shape(node.inputs[0]).rank();
  const auto listed = [&](std::string_view name) {
    const auto* one = std::get_if<int64_t>(node.attributes.find(name));
    std::vector<size_t> axes;
    for (const int64_t axis : one ? std::vector{*one} : node.attributes.integers(name))
      axes.push_back(axis_of(axis, rank));
    return axes;
  };
  const std::vector<size_t> from = listed("source"), to = listed("destination");
  std::vector<int64_t> dims(rank, -1);
  for (size_t i = 0; i < from.size(); ++i) dims[to[i]] = static_cast<int64_t>(from[i]);
  size_t next = 0;
  for (int64_t& dim : dims) {
    if (dim >= 0) continue;
    while (std::ranges::find(from, next) != from.end()) ++next;
    dim = static_cast<int64_t>(next++);
  }
  return permute_by(in, node, dims);
}

Result<bool> normal_permute(Rewriter& in, const Node& node) {
  const size_t rank = in.shape(node.inputs[0]).rank();
  std::vector<int64_t> dims = node.attributes.integers("dims");
  for (int64_t& dim : dims) dim = static_cast<int64_t>(axis_of(dim, rank));
  if (node.op == ir::Op(AtenOp::permute_default) && dims == node.attributes.integers("dims")) return false;
  return permute_by(in, node, dims);
}

Result<bool> cat_by_name(Rewriter& in, const Node& node) {
  const auto axis = static_cast<int64_t>(axis_of(node.attributes.integer("dim"), in.shape(node.outputs[0]).rank()));
  if (node.op == ir::Op(AtenOp::cat_default) && axis == node.attributes.integer("dim")) return false;
  return rewritten(in.define(node.outputs[0], AtenOp::cat_default, node.inputs, {{"dim", axis}}));
}

Result<bool> stack_to_cat(Rewriter& in, const Node& node) {
  const Shape out = in.shape(node.outputs[0]);
  const size_t axis = axis_of(node.attributes.integer("dim"), out.rank());
  Shape one = out;
  one[axis] = 1;
  std::vector<ValueId> parts;
  for (const ValueId input : node.inputs) parts.push_back(in.view(input, one));
  return rewritten(in.define(node.outputs[0], AtenOp::cat_default, parts, {{"dim", static_cast<int64_t>(axis)}}));
}

// Concatenates along the second axis, or along the only axis of one-dimensional tensors.
Result<bool> hstack_to_cat(Rewriter& in, const Node& node) {
  const size_t rank = in.shape(node.outputs[0]).rank();
  std::vector<ValueId> parts;
  for (const ValueId input : node.inputs)
    parts.push_back(in.shape(input).rank() == 0 ? in.view(input, Shape{1}) : input);
  return rewritten(
      in.define(node.outputs[0], AtenOp::cat_default, parts, {{"dim", rank == 1 ? int64_t{0} : int64_t{1}}}));
}

Result<bool> vstack_to_cat(Rewriter& in, const Node& node) {
  std::vector<ValueId> parts;
  for (const ValueId input : node.inputs) {
    const Shape shape = in.shape(input);
    parts.push_back(shape.rank() < 2 ? in.view(input, Shape{1, shape.elements()}) : input);
  }
  return rewritten(in.define(node.outputs[0], AtenOp::cat_default, parts, {{"dim", int64_t{0}}}));
}

Result<bool> last_two_to_permute(Rewriter& in, const Node& node) {
  const size_t rank = in.shape(node.inputs[0]).rank();
  return rank < 2 ? Result<bool>(false) : swap_to_permute(in, node, rank - 2, rank - 1);
}

// A rotation by 90 degrees swaps two axes and reverses one of them.
Result<bool> rot90(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  const std::vector<int64_t>& dims = node.attributes.integers("dims");
  const size_t a = axis_of(dims[0], shape.rank()), b = axis_of(dims[1], shape.rank());
  const int64_t turns = ((node.attributes.integer("k") % 4) + 4) % 4;
  const auto flipped = [&](ValueId x, std::vector<size_t> axes) {
    return in.move(AtenOp::flip_default, {x}, {{"dims", to_ints(axes)}}, in.shape(x));
  };
  if (turns == 0) return rewritten(in.view_into(node.outputs[0], node.inputs[0]));
  if (turns == 2) return rewritten(in.view_into(node.outputs[0], flipped(node.inputs[0], {a, b})));
  std::vector<int64_t> order = identity_order(shape.rank());
  std::swap(order[a], order[b]);
  const ValueId turned =
      in.move(AtenOp::permute_default, {node.inputs[0]}, {{"dims", order}}, in.shape(node.outputs[0]));
  return rewritten(in.view_into(node.outputs[0], flipped(turned, {turns == 1 ? a : b})));
}

// Each tensor varies along its own axis of the grid. indexing="xy" swaps the first two axes.
Result<bool> meshgrid(Rewriter& in, const Node& node) {
  const ir::Attribute* indexing = node.attributes.find("indexing");
  const bool swaps = indexing != nullptr && std::get<std::string>(*indexing) == "xy" && node.inputs.size() > 1;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    const size_t axis = swaps && i < 2 ? 1 - i : i;
    Shape line(std::vector<int64_t>(node.inputs.size(), 1));
    line[axis] = in.shape(node.inputs[i]).elements();
    const std::vector<int64_t> size = dims_of(in.shape(node.outputs[i]));
    CARINA_CHECKED(in.define(node.outputs[i], AtenOp::expand_default, {in.view(node.inputs[i], line)},
                             {{"size", size}, {"implicit", false}}));
  }
  return true;
}

Result<bool> to_expand(Rewriter& in, const Node& node) {
  const std::vector<int64_t> size = dims_of(in.shape(node.outputs[0]));
  if (node.op == ir::Op(AtenOp::expand_default) && size == node.attributes.integers("size")) return false;
  return rewritten(
      in.define(node.outputs[0], AtenOp::expand_default, {node.inputs[0]}, {{"size", size}, {"implicit", false}}));
}

Result<bool> tile_to_repeat(Rewriter& in, const Node& node) {
  std::vector<int64_t> repeats = node.attributes.integers("dims");
  const size_t rank = in.shape(node.inputs[0]).rank();
  if (repeats.size() < rank) repeats.insert(repeats.begin(), rank - repeats.size(), 1);
  return rewritten(in.define(node.outputs[0], AtenOp::repeat_default, {node.inputs[0]}, {{"repeats", repeats}}));
}

Result<bool> pad_to_constant_pad(Rewriter& in, const Node& node) {
  if (node.attributes.get<std::string>("mode") != "constant") return false;
  const ir::Attribute value =
      node.attributes.is_none("value") ? ir::Attribute(int64_t{0}) : *node.attributes.find("value");
  return rewritten(in.define(node.outputs[0], AtenOp::constant_pad_nd_default, {node.inputs[0]},
                             {{"pad", node.attributes.integers("pad")}, {"value", value}}));
}

constexpr RewriteRow kCanonicalizeViewsRows[] = {
    {AtenOp::view_copy_default, to_view},
    {AtenOp::reshape_default, to_view},
    {AtenOp::_unsafe_view_default, to_view},
    {AtenOp::view_as_default, to_view},
    {AtenOp::reshape_as_default, to_view},
    {AtenOp::flatten_using_ints, to_view},
    {AtenOp::unflatten_int, to_view},
    {AtenOp::squeeze_default, to_view},
    {AtenOp::squeeze_dim, to_view},
    {AtenOp::squeeze_dims, to_view},
    {AtenOp::squeeze_copy_default, to_view},
    {AtenOp::squeeze_copy_dim, to_view},
    {AtenOp::squeeze_copy_dims, to_view},
    {AtenOp::unsqueeze_default, to_view},
    {AtenOp::unsqueeze_copy_default, to_view},
    {AtenOp::permute_default, normal_permute},
    {AtenOp::permute_copy_default, normal_permute},
    {AtenOp::transpose_int, transpose_to_permute<kDim0, kDim1>},
    {AtenOp::transpose_copy_int, transpose_to_permute<kDim0, kDim1>},
    {AtenOp::swapdims_default, transpose_to_permute<kDim0, kDim1>},
    {AtenOp::swapaxes_default, transpose_to_permute<kAxis0, kAxis1>},
    {AtenOp::t_default, t_to_permute},
    {AtenOp::t_copy_default, t_to_permute},
    {AtenOp::numpy_T_default, reversed_to_permute},
    {AtenOp::movedim_intlist, move_axes},
    {AtenOp::movedim_int, move_axes},
    {AtenOp::moveaxis_intlist, move_axes},
    {AtenOp::moveaxis_int, move_axes},
    {AtenOp::cat_default, cat_by_name},
    {AtenOp::concat_default, cat_by_name},
    {AtenOp::concatenate_default, cat_by_name},
    {AtenOp::stack_default, stack_to_cat},
    {AtenOp::hstack_default, hstack_to_cat},
    {AtenOp::vstack_default, vstack_to_cat},
    {AtenOp::mT_default, last_two_to_permute},
    {AtenOp::rot90_default, rot90},
    {AtenOp::meshgrid_default, meshgrid},
    {AtenOp::meshgrid_indexing, meshgrid},
    {AtenOp::expand_default, to_expand},
    {AtenOp::expand_copy_default, to_expand},
    {AtenOp::expand_as_default, to_expand},
    {AtenOp::broadcast_to_default, to_expand},
    {AtenOp::tile_default, tile_to_repeat},
    {AtenOp::pad_default, pad_to_constant_pad},
};
static_assert(rewrites_what_becomes(kCanonicalizeViewsRows));

}  // namespace

std::span<const RewriteRow> canonical_views() {
  return kCanonicalizeViewsRows;
}

}  // namespace carina::normalize
