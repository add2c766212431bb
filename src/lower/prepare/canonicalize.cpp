// What:   one spelling for what PyTorch can say in many ways.
// Before: %b = aten.flatten.using_ints(%a, start_dim=1, end_dim=-1); %c = aten.relu6.default(%b); %d =
// aten.select_copy.int(%c, 0, 3) After:  %b = aten.view.default(%a, size=[1,64]); %c = aten.clamp.default(%b, min=0,
// max=6);
//         %s = aten.slice.Tensor(%c, dim=0, start=3, end=4, step=1); %d = aten.view.default(%s, size=[64])
// Needs:  static shapes.
// Gives:  reshapes are view.default, transpositions permute.default, activations with limits relu.default or
// clamp.default,
//         scalar operands constants, splits and selects slice.Tensor with start and end in range, pools and
//         convolutions two-dimensional with [N,C,H,W].
// Legal:  every row is PyTorch's own definition of the op in terms of the other.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "facts/aten_traits.h"
#include "lower/prepare/axes_internal.h"
#include "lower/prepare/passes_internal.h"
#include "lower/prepare/rewriter_internal.h"

namespace carina::lower {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

Result<bool> done(Result<void> result) {
  if (!result) return std::unexpected(std::move(result).error());
  return true;
}

// Any op whose output holds the input's elements in the same order.
Result<bool> to_view(Rewriter& in, const Node& node) {
  return done(in.view_into(node.outputs[0], node.inputs[0]));
}

Result<bool> permute_by(Rewriter& in, const Node& node, const std::vector<int64_t>& dims) {
  return done(in.into(node.outputs[0], AtenOp::permute_default, {node.inputs[0]}, {{"dims", dims}}));
}

std::vector<int64_t> identity_order(size_t rank) {
  std::vector<int64_t> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
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

// Slices.
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
  return done(in.into(node.outputs[0], AtenOp::slice_Tensor, {node.inputs[0]}, normal));
}

Result<bool> narrow_to_slice(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  const size_t axis = axis_of(node.attributes.integer("dim"), shape.rank());
  int64_t start = node.attributes.integer("start");
  if (start < 0) start += shape[axis];
  const Span span{.axis = axis, .start = start, .end = start + node.attributes.integer("length"), .step = 1};
  return done(in.into(node.outputs[0], AtenOp::slice_Tensor, {node.inputs[0]}, slice_attributes(span)));
}

// One index of an axis, and the axis removed.
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
  return done(pick(in, node.outputs[0], node.inputs[0], axis, index < 0 ? index + shape[axis] : index));
}

Result<bool> unbind_to_slices(Rewriter& in, const Node& node) {
  const size_t axis = axis_of(node.attributes.integer("dim"), in.shape(node.inputs[0]).rank());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid())
      CARINA_CHECKED(pick(in, node.outputs[i], node.inputs[0], axis, static_cast<int64_t>(i)));
  }
  return true;
}

// split, chunk and their kin: the parts' sizes stand in the outputs' shapes.
Result<bool> split_to_slices(Rewriter& in, const Node& node) {
  const size_t axis = axis_of(node.attributes.integer("dim"), in.shape(node.inputs[0]).rank());
  int64_t start = 0;
  for (const ValueId output : node.outputs) {
    if (!output.valid()) return fail(about(node, "a part of a split has no value"));
    const Span span{.axis = axis, .start = start, .end = start + in.shape(output)[axis], .step = 1};
    start = span.end;
    CARINA_CHECKED(in.into(output, AtenOp::slice_Tensor, {node.inputs[0]}, slice_attributes(span)));
  }
  return true;
}

Result<bool> cat_by_name(Rewriter& in, const Node& node) {
  const auto axis = static_cast<int64_t>(axis_of(node.attributes.integer("dim"), in.shape(node.outputs[0]).rank()));
  if (node.op == ir::Op(AtenOp::cat_default) && axis == node.attributes.integer("dim")) return false;
  return done(in.into(node.outputs[0], AtenOp::cat_default, node.inputs, {{"dim", axis}}));
}

Result<bool> stack_to_cat(Rewriter& in, const Node& node) {
  const Shape out = in.shape(node.outputs[0]);
  const size_t axis = axis_of(node.attributes.integer("dim"), out.rank());
  Shape one = out;
  one[axis] = 1;
  std::vector<ValueId> parts;
  for (const ValueId input : node.inputs) parts.push_back(in.view(input, one));
  return done(in.into(node.outputs[0], AtenOp::cat_default, parts, {{"dim", static_cast<int64_t>(axis)}}));
}

Result<bool> to_expand(Rewriter& in, const Node& node) {
  const std::vector<int64_t> size = dims_of(in.shape(node.outputs[0]));
  if (node.op == ir::Op(AtenOp::expand_default) && size == node.attributes.integers("size")) return false;
  return done(
      in.into(node.outputs[0], AtenOp::expand_default, {node.inputs[0]}, {{"size", size}, {"implicit", false}}));
}

Result<bool> tile_to_repeat(Rewriter& in, const Node& node) {
  std::vector<int64_t> repeats = node.attributes.integers("dims");
  const size_t rank = in.shape(node.inputs[0]).rank();
  if (repeats.size() < rank) repeats.insert(repeats.begin(), rank - repeats.size(), 1);
  return done(in.into(node.outputs[0], AtenOp::repeat_default, {node.inputs[0]}, {{"repeats", repeats}}));
}

Result<bool> pad_to_constant_pad(Rewriter& in, const Node& node) {
  if (node.attributes.get<std::string>("mode") != "constant") return false;
  const ir::Attribute value =
      node.attributes.is_none("value") ? ir::Attribute(int64_t{0}) : *node.attributes.find("value");
  return done(in.into(node.outputs[0], AtenOp::constant_pad_nd_default, {node.inputs[0]},
                      {{"pad", node.attributes.integers("pad")}, {"value", value}}));
}

// Activations with limits.
struct Limits {
  ir::Attribute min;
  ir::Attribute max;
};

Result<bool> clamp_between(Rewriter& in, const Node& node, const Limits& limits) {
  return done(
      in.into(node.outputs[0], AtenOp::clamp_default, {node.inputs[0]}, {{"min", limits.min}, {"max", limits.max}}));
}
Result<bool> relu6_to_clamp(Rewriter& in, const Node& node) {
  return clamp_between(in, node, {.min = int64_t{0}, .max = int64_t{6}});
}
Result<bool> hardtanh_to_clamp(Rewriter& in, const Node& node) {
  return clamp_between(in, node, {.min = *node.attributes.find("min_val"), .max = *node.attributes.find("max_val")});
}
Result<bool> clamp_min_to_clamp(Rewriter& in, const Node& node) {
  return clamp_between(in, node, {.min = *node.attributes.find("min"), .max = std::monostate()});
}
Result<bool> clamp_max_to_clamp(Rewriter& in, const Node& node) {
  return clamp_between(in, node, {.min = std::monostate(), .max = *node.attributes.find("max")});
}
Result<bool> clamp_min_to_maximum(Rewriter& in, const Node& node) {
  return done(in.into(node.outputs[0], AtenOp::maximum_default, node.inputs, {}));
}
Result<bool> clamp_max_to_minimum(Rewriter& in, const Node& node) {
  return done(in.into(node.outputs[0], AtenOp::minimum_default, node.inputs, {}));
}

// Arithmetic with a scalar, or with a factor on the second operand.
ValueId scalar_like(Rewriter& in, const Node& node, std::string_view attribute) {
  return in.scalar(node.attributes.number(attribute), in[node.outputs[0]].dtype);
}

// The second operand times `alpha`.
ValueId times_alpha(Rewriter& in, const Node& node, ValueId operand) {
  const double alpha = node.attributes.number("alpha");
  if (alpha == 1) return operand;
  const Shape shape = in.shape(operand);
  return in.make(AtenOp::mul_Tensor, {operand, in.scalar(alpha, in[node.outputs[0]].dtype)}, {}, shape);
}

template <AtenOp kTo>
Result<bool> plus_scalar(Rewriter& in, const Node& node) {
  const double other = node.attributes.number("other") * node.attributes.number("alpha");
  const ValueId scalar = in.scalar(other, in[node.outputs[0]].dtype);
  return done(in.into(node.outputs[0], kTo, {node.inputs[0], scalar}, {{"alpha", int64_t{1}}}));
}

template <AtenOp kTo>
Result<bool> without_alpha(Rewriter& in, const Node& node) {
  if (node.attributes.number("alpha") == 1) return false;
  const ValueId other = times_alpha(in, node, node.inputs[1]);
  return done(in.into(node.outputs[0], kTo, {node.inputs[0], other}, {{"alpha", int64_t{1}}}));
}

// rsub(self, other) = other - alpha * self
Result<bool> rsub_to_sub(Rewriter& in, const Node& node) {
  const ValueId self = times_alpha(in, node, node.inputs[0]);
  const ValueId other = node.inputs.size() > 1 ? node.inputs[1] : scalar_like(in, node, "other");
  return done(in.into(node.outputs[0], AtenOp::sub_Tensor, {other, self}, {{"alpha", int64_t{1}}}));
}

Result<bool> mul_scalar(Rewriter& in, const Node& node) {
  return done(in.into(node.outputs[0], AtenOp::mul_Tensor, {node.inputs[0], scalar_like(in, node, "other")}, {}));
}

// Division of floats: by a constant it is a product with its inverse, else with the reciprocal.
Result<bool> div_scalar(Rewriter& in, const Node& node) {
  if (in[node.outputs[0]].dtype != DType::kFp32) return false;
  const ValueId inverse = in.scalar(1 / node.attributes.number("other"), DType::kFp32);
  return done(in.into(node.outputs[0], AtenOp::mul_Tensor, {node.inputs[0], inverse}, {}));
}

Result<bool> div_tensor(Rewriter& in, const Node& node) {
  const ir::Value divisor = in[node.inputs[1]];
  if (in[node.outputs[0]].dtype != DType::kFp32 || in[node.inputs[0]].dtype != DType::kFp32) return false;
  if (!divisor.constant || divisor.dtype != DType::kFp32 || divisor.quantization) {
    if (divisor.dtype != DType::kFp32) return false;
    const ValueId inverse = in.make(AtenOp::reciprocal_default, {node.inputs[1]}, {}, divisor.shape);
    return done(in.into(node.outputs[0], AtenOp::mul_Tensor, {node.inputs[0], inverse}, {}));
  }
  MutableTensor inverse(DType::kFp32, divisor.shape);
  std::ranges::transform(divisor.constant->values<float>(), inverse.values<float>().begin(),
                         [](float v) { return 1 / v; });
  const ValueId constant = in.constant(divisor.name + "_inverse", std::move(inverse).freeze());
  return done(in.into(node.outputs[0], AtenOp::mul_Tensor, {node.inputs[0], constant}, {}));
}

Result<bool> square_to_mul(Rewriter& in, const Node& node) {
  return done(in.into(node.outputs[0], AtenOp::mul_Tensor, {node.inputs[0], node.inputs[0]}, {}));
}

Result<bool> pow_by_exponent(Rewriter& in, const Node& node) {
  const double exponent = node.attributes.number("exponent");
  if (exponent == 2) return square_to_mul(in, node);
  const auto unary = [&](AtenOp op) { return done(in.into(node.outputs[0], op, {node.inputs[0]}, {})); };
  if (exponent == 0.5) return unary(AtenOp::sqrt_default);
  if (exponent == -0.5) return unary(AtenOp::rsqrt_default);
  if (exponent == -1) return unary(AtenOp::reciprocal_default);
  if (exponent == 1) return unary(AtenOp::clone_default);
  return false;
}

// Reductions over everything, and maxima of which nobody wants the index.
template <AtenOp kTo>
Result<bool> reduce_all(Rewriter& in, const Node& node) {
  const std::vector<int64_t> dims = identity_order(in.shape(node.inputs[0]).rank());
  Attributes attributes{{"dim", dims}, {"keepdim", false}};
  if (node.attributes.find("dtype") != nullptr) attributes.set("dtype", *node.attributes.find("dtype"));
  return done(in.into(node.outputs[0], kTo, {node.inputs[0]}, attributes));
}

bool only_first_used(Rewriter& in, const Node& node) {
  return std::ranges::all_of(node.outputs.begin() + 1, node.outputs.end(),
                             [&](ValueId v) { return !v.valid() || in.uses(v) == 0; });
}

template <AtenOp kTo>
Result<bool> extremum_of_axis(Rewriter& in, const Node& node) {
  if (!only_first_used(in, node)) return false;
  const auto axis = static_cast<int64_t>(axis_of(node.attributes.integer("dim"), in.shape(node.inputs[0]).rank()));
  return done(in.into(node.outputs[0], kTo, {node.inputs[0]},
                      {{"dim", std::vector{axis}}, {"keepdim", node.attributes.get<bool>("keepdim")}}));
}

template <AtenOp kTo>
Result<bool> renamed(Rewriter& in, const Node& node) {
  return done(in.into(node.outputs[0], kTo, node.inputs, node.attributes));
}

// An op of several results of which only the first is read, under the name of the op that has just that one.
template <AtenOp kTo>
Result<bool> first_result(Rewriter& in, const Node& node) {
  if (!only_first_used(in, node)) return false;
  return done(in.into(node.outputs[0], kTo, node.inputs, node.attributes));
}

constexpr RewriteRow kRows[] = {
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
    {AtenOp::cat_default, cat_by_name},
    {AtenOp::concat_default, cat_by_name},
    {AtenOp::concatenate_default, cat_by_name},
    {AtenOp::stack_default, stack_to_cat},
    {AtenOp::expand_default, to_expand},
    {AtenOp::expand_copy_default, to_expand},
    {AtenOp::expand_as_default, to_expand},
    {AtenOp::broadcast_to_default, to_expand},
    {AtenOp::tile_default, tile_to_repeat},
    {AtenOp::pad_default, pad_to_constant_pad},
    {AtenOp::relu6_default, relu6_to_clamp},
    {AtenOp::hardtanh_default, hardtanh_to_clamp},
    {AtenOp::clamp_min_default, clamp_min_to_clamp},
    {AtenOp::clamp_max_default, clamp_max_to_clamp},
    {AtenOp::clamp_min_Tensor, clamp_min_to_maximum},
    {AtenOp::clamp_max_Tensor, clamp_max_to_minimum},
    {AtenOp::add_Scalar, plus_scalar<AtenOp::add_Tensor>},
    {AtenOp::sub_Scalar, plus_scalar<AtenOp::sub_Tensor>},
    {AtenOp::add_Tensor, without_alpha<AtenOp::add_Tensor>},
    {AtenOp::sub_Tensor, without_alpha<AtenOp::sub_Tensor>},
    {AtenOp::rsub_Tensor, rsub_to_sub},
    {AtenOp::rsub_Scalar, rsub_to_sub},
    {AtenOp::mul_Scalar, mul_scalar},
    {AtenOp::div_Scalar, div_scalar},
    {AtenOp::true_divide_Scalar, div_scalar},
    {AtenOp::divide_Scalar, div_scalar},
    {AtenOp::div_Tensor, div_tensor},
    {AtenOp::true_divide_Tensor, div_tensor},
    {AtenOp::divide_Tensor, div_tensor},
    {AtenOp::square_default, square_to_mul},
    {AtenOp::pow_Tensor_Scalar, pow_by_exponent},
    {AtenOp::max_other, renamed<AtenOp::maximum_default>},
    {AtenOp::min_other, renamed<AtenOp::minimum_default>},
    {AtenOp::max_default, reduce_all<AtenOp::amax_default>},
    {AtenOp::min_default, reduce_all<AtenOp::amin_default>},
    {AtenOp::max_dim, extremum_of_axis<AtenOp::amax_default>},
    {AtenOp::min_dim, extremum_of_axis<AtenOp::amin_default>},
    {AtenOp::mean_default, reduce_all<AtenOp::mean_dim>},
    {AtenOp::sum_default, reduce_all<AtenOp::sum_dim_IntList>},
    {AtenOp::max_pool2d_with_indices_default, first_result<AtenOp::max_pool2d_default>},
    {AtenOp::max_pool1d_with_indices_default, first_result<AtenOp::max_pool1d_default>},
    {AtenOp::_adaptive_avg_pool2d_default, renamed<AtenOp::adaptive_avg_pool2d_default>},
};
static_assert(rewrites_what_becomes(kRows));

}  // namespace

Result<void> canonicalize(ir::Graph& graph, const Log&) {
  return Rewriter(graph, kRows).run();
}

}  // namespace carina::lower
