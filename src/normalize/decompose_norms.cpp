#include <cmath>
#include <limits>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"

// Softmax and the norms (layer, group, RMS, instance) become reductions and elementwise operators.
//   Example: layer_norm(x) = (x - mean(x)) * rsqrt(mean((x - mean(x))^2) + eps) * weight + bias.
namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

// x - max(x) along the axis, so that exp() cannot overflow. Nothing has no maximum.
ValueId minus_maximum(Rewriter& in, ValueId x, const std::vector<size_t>& axes) {
  const Shape shape = in.shape(x);
  if (shape.elements() == 0) return x;
  const ValueId maximum = in.make(AtenOp::amax_default, {x}, over_extremum(axes), kept_shape(shape, axes));
  return in.make(AtenOp::sub_Tensor, {x, maximum}, no_alpha(), shape);
}

Result<bool> softmax(Rewriter& in, const Node& node) {
  const ValueId x = node.inputs[0];
  const Shape shape = in.shape(x);
  if (shape.rank() == 0 || in[x].dtype != DType::kFp32) return false;
  const std::vector<size_t> axes{axis_of(node.attributes.integer("dim"), shape.rank())};
  const ValueId power = in.make(AtenOp::exp_default, {minus_maximum(in, x, axes)}, {}, shape);
  const ValueId sum = in.make(AtenOp::sum_dim_IntList, {power}, over(axes), kept_shape(shape, axes));
  const ValueId inverse = in.make(AtenOp::reciprocal_default, {sum}, {}, kept_shape(shape, axes));
  return rewritten(in.define(node.outputs[0], AtenOp::mul_Tensor, {power, inverse}, {}));
}

Result<bool> log_softmax(Rewriter& in, const Node& node) {
  const ValueId x = node.inputs[0];
  const Shape shape = in.shape(x);
  if (shape.rank() == 0 || in[x].dtype != DType::kFp32) return false;
  const std::vector<size_t> axes{axis_of(node.attributes.integer("dim"), shape.rank())};
  const ValueId shifted = minus_maximum(in, x, axes);
  const ValueId power = in.make(AtenOp::exp_default, {shifted}, {}, shape);
  const ValueId sum = in.make(AtenOp::sum_dim_IntList, {power}, over(axes), kept_shape(shape, axes));
  const ValueId log = in.make(AtenOp::log_default, {sum}, {}, kept_shape(shape, axes));
  return rewritten(in.define(node.outputs[0], AtenOp::sub_Tensor, {shifted, log}, no_alpha()));
}

// (x - mean) / sqrt(var + eps)
ValueId normalized(Rewriter& in, ValueId x, const std::vector<size_t>& axes, double eps) {
  const Shape shape = in.shape(x), kept = kept_shape(shape, axes);
  const Centered centered = center(in, x, axes);
  const ValueId variance = in.make(AtenOp::mean_dim, {centered.square}, over(axes), kept);
  const ValueId safe = in.make(AtenOp::add_Tensor, {variance, in.scalar(eps, DType::kFp32)}, no_alpha(), kept);
  const ValueId inverse = in.make(AtenOp::rsqrt_default, {safe}, {}, kept);
  return in.make(AtenOp::mul_Tensor, {centered.value, inverse}, {}, shape);
}

// output = x * weight + bias. Weight or bias may be absent.
Result<bool> scale_and_shift(Rewriter& in, ValueId output, ValueId x, ValueId weight, ValueId bias) {
  const Shape shape = in.shape(output);
  if (weight.valid() && bias.valid()) x = in.make(AtenOp::mul_Tensor, {x, weight}, {}, shape);
  if (bias.valid()) return rewritten(in.define(output, AtenOp::add_Tensor, {x, bias}, no_alpha()));
  if (weight.valid()) return rewritten(in.define(output, AtenOp::mul_Tensor, {x, weight}, {}));
  in.forward(output, x);
  return true;
}

bool first_result_only(const Rewriter& in, const Node& node) {
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid() && in.uses(node.outputs[i]) != 0) return false;
  }
  return true;
}

Result<bool> layer_norm(Rewriter& in, const Node& node) {
  if (!first_result_only(in, node) || in[node.inputs[0]].dtype != DType::kFp32) return false;
  const size_t rank = in.shape(node.inputs[0]).rank(), count = node.attributes.integers("normalized_shape").size();
  std::vector<size_t> axes;
  for (size_t axis = rank - count; axis < rank; ++axis) axes.push_back(axis);
  const ValueId x = normalized(in, node.inputs[0], axes, node.attributes.number("eps"));
  return scale_and_shift(in, node.outputs[0], x, node.inputs[1], node.inputs[2]);
}

// Returns a weight or bias [C] of data [N,C,...] as [1,C,1,...]; an absent one stays absent.
ValueId per_channel(Rewriter& in, ValueId id, const Shape& data) {
  Shape shape(std::vector<int64_t>(data.rank(), 1));
  shape[1] = data[1];
  return id.valid() ? in.view(id, shape) : id;
}

// Normalizes each channel over all other axes. Batch norms with statistics have been folded (fold_batch_norm.cpp).
Result<bool> batch_norm(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  if (!first_result_only(in, node) || in[node.inputs[0]].dtype != DType::kFp32 || shape.rank() < 2) return false;
  std::vector<size_t> axes{0};
  for (size_t axis = 2; axis < shape.rank(); ++axis) axes.push_back(axis);
  const ValueId x = normalized(in, node.inputs[0], axes, node.attributes.number("eps"));
  const ValueId bias = per_channel(in, node.inputs[2], shape);
  return scale_and_shift(in, node.outputs[0], x, per_channel(in, node.inputs[1], shape), bias);
}

// Reshapes [N,C,...] to [N,G,C/G*...], normalizes along the last axis, and reshapes back. Weight and bias are per
// channel.
Result<bool> group_norm_of(Rewriter& in, const Node& node, int64_t groups) {
  if (!first_result_only(in, node) || in[node.inputs[0]].dtype != DType::kFp32) return false;
  const Shape shape = in.shape(node.inputs[0]);
  if (shape.rank() < 2 || groups < 1 || shape[1] % groups != 0 || shape.elements() == 0) return false;
  const Shape grouped{shape[0], groups, shape.elements() / shape[0] / groups};
  const ValueId x =
      in.view(normalized(in, in.view(node.inputs[0], grouped), {2}, node.attributes.number("eps")), shape);
  const ValueId weight = per_channel(in, node.inputs[1], shape);
  return scale_and_shift(in, node.outputs[0], x, weight, per_channel(in, node.inputs[2], shape));
}

Result<bool> group_norm(Rewriter& in, const Node& node) {
  return group_norm_of(in, node, node.attributes.integer("num_groups"));
}
Result<bool> native_group_norm(Rewriter& in, const Node& node) {
  return group_norm_of(in, node, node.attributes.integer("group"));
}

// Normalizes each channel of each image: a group norm with groups of one channel. With running statistics it is a batch
// norm instead.
Result<bool> instance_norm(Rewriter& in, const Node& node) {
  const Shape& shape = in.shape(node.inputs[0]);
  if (!node.attributes.get<bool>("use_input_stats") || shape.rank() < 2) return false;
  return group_norm_of(in, node, shape[1]);
}

// x / sqrt(mean(x^2) + eps) * weight
Result<bool> rms_norm(Rewriter& in, const Node& node) {
  const ValueId x = node.inputs[0];
  if (in[x].dtype != DType::kFp32) return false;
  const Shape shape = in.shape(x);
  std::vector<size_t> axes;
  for (size_t axis = shape.rank() - node.attributes.integers("normalized_shape").size(); axis < shape.rank(); ++axis)
    axes.push_back(axis);
  const Shape kept = kept_shape(shape, axes);
  const double eps =
      node.attributes.is_none("eps") ? std::numeric_limits<float>::epsilon() : node.attributes.number("eps");
  const ValueId square = in.make(AtenOp::mul_Tensor, {x, x}, {}, shape);
  const ValueId mean = in.make(AtenOp::mean_dim, {square}, over(axes), kept);
  const ValueId safe = in.make(AtenOp::add_Tensor, {mean, in.scalar(eps, DType::kFp32)}, no_alpha(), kept);
  const ValueId scaled = in.make(AtenOp::mul_Tensor, {x, in.make(AtenOp::rsqrt_default, {safe}, {}, kept)}, {}, shape);
  return scale_and_shift(in, node.outputs[0], scaled, node.inputs[1], ValueId());
}

constexpr RewriteRow kDecomposeNormsRows[] = {
    {AtenOp::softmax_int, softmax},
    {AtenOp::_softmax_default, softmax},
    {AtenOp::_safe_softmax_default, softmax},
    {AtenOp::log_softmax_int, log_softmax},
    {AtenOp::_log_softmax_default, log_softmax},
    {AtenOp::layer_norm_default, layer_norm},
    {AtenOp::native_layer_norm_default, layer_norm},
    {AtenOp::batch_norm_default, batch_norm},
    {AtenOp::_native_batch_norm_legit_no_stats, batch_norm},
    {AtenOp::group_norm_default, group_norm},
    {AtenOp::native_group_norm_default, native_group_norm},
    {AtenOp::instance_norm_default, instance_norm},
    {AtenOp::rms_norm_default, rms_norm},
};
static_assert(rewrites_what_becomes(kDecomposeNormsRows));

}  // namespace

std::span<const RewriteRow> norm_rows() {
  return kDecomposeNormsRows;
}

}  // namespace carina::normalize
