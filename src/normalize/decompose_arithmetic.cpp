#include <numbers>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"

// Arithmetic composites: addcmul, addcdiv, hypot, logaddexp, logaddexp2, lerp.
namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

ValueId product(Rewriter& in, ValueId a, ValueId b, const Shape& shape) {
  return in.make(AtenOp::mul_Tensor, {a, b}, {}, shape);
}

// x + value * a * b
Result<bool> addcmul(Rewriter& in, const Node& node) {
  if (!is_fp32(in, node)) return false;
  const Shape shape = in.shape(node.outputs[0]);
  const double value = node.attributes.number("value");
  ValueId term = product(in, node.inputs[1], node.inputs[2], shape);
  if (value != 1) term = product(in, term, in.scalar(value, DType::kFp32), shape);
  return rewritten(in.define(node.outputs[0], AtenOp::add_Tensor, {node.inputs[0], term}, no_alpha()));
}

// x + value * a / b
Result<bool> addcdiv(Rewriter& in, const Node& node) {
  if (!is_fp32(in, node)) return false;
  const Shape shape = in.shape(node.outputs[0]), of_divisor = in.shape(node.inputs[2]);
  const double value = node.attributes.number("value");
  const ValueId inverse = in.make(AtenOp::reciprocal_default, {node.inputs[2]}, {}, of_divisor);
  ValueId term = product(in, node.inputs[1], inverse, shape);
  if (value != 1) term = product(in, term, in.scalar(value, DType::kFp32), shape);
  return rewritten(in.define(node.outputs[0], AtenOp::add_Tensor, {node.inputs[0], term}, no_alpha()));
}

// sqrt(a^2 + b^2)
Result<bool> hypot(Rewriter& in, const Node& node) {
  if (!is_fp32(in, node)) return false;
  const auto square = [&](ValueId x) {
    const Shape shape = in.shape(x);
    return product(in, x, x, shape);
  };
  const ValueId sum = in.make(AtenOp::add_Tensor, {square(node.inputs[0]), square(node.inputs[1])}, no_alpha(),
                              in.shape(node.outputs[0]));
  return rewritten(in.define(node.outputs[0], AtenOp::sqrt_default, {sum}, {}));
}

// max(a, b) + log1p(exp(-|a - b|))
Result<bool> logaddexp(Rewriter& in, const Node& node) {
  if (!is_fp32(in, node)) return false;
  const Shape shape = in.shape(node.outputs[0]);
  const auto apply = [&](AtenOp op, ValueId x) { return in.make(op, {x}, {}, shape); };
  const ValueId distance = apply(AtenOp::abs_default, in.make(AtenOp::sub_Tensor, node.inputs, no_alpha(), shape));
  const ValueId rest = apply(AtenOp::log1p_default, apply(AtenOp::exp_default, apply(AtenOp::neg_default, distance)));
  const ValueId larger = in.make(AtenOp::maximum_default, node.inputs, {}, shape);
  return rewritten(in.define(node.outputs[0], AtenOp::add_Tensor, {larger, rest}, no_alpha()));
}

// max(a, b) + log1p(2^-|a - b|) / ln 2
Result<bool> logaddexp2(Rewriter& in, const Node& node) {
  if (!is_fp32(in, node)) return false;
  const Shape shape = in.shape(node.outputs[0]);
  const auto apply = [&](AtenOp op, ValueId x) { return in.make(op, {x}, {}, shape); };
  const auto times = [&](ValueId x, double factor) { return product(in, x, in.scalar(factor, DType::kFp32), shape); };
  const ValueId distance = apply(AtenOp::abs_default, in.make(AtenOp::sub_Tensor, node.inputs, no_alpha(), shape));
  const ValueId power = apply(AtenOp::exp_default, times(distance, -std::numbers::ln2));
  const ValueId rest = times(apply(AtenOp::log1p_default, power), std::numbers::log2e);
  const ValueId larger = in.make(AtenOp::maximum_default, node.inputs, {}, shape);
  return rewritten(in.define(node.outputs[0], AtenOp::add_Tensor, {larger, rest}, no_alpha()));
}

// x + weight * (end - x)
Result<bool> lerp(Rewriter& in, const Node& node, ValueId weight) {
  const Shape shape = in.shape(node.outputs[0]);
  const ValueId way = in.make(AtenOp::sub_Tensor, {node.inputs[1], node.inputs[0]}, no_alpha(), shape);
  return rewritten(
      in.define(node.outputs[0], AtenOp::add_Tensor, {node.inputs[0], product(in, way, weight, shape)}, no_alpha()));
}
Result<bool> lerp_scalar(Rewriter& in, const Node& node) {
  if (!is_fp32(in, node)) return false;
  return lerp(in, node, in.scalar(node.attributes.number("weight"), DType::kFp32));
}
Result<bool> lerp_tensor(Rewriter& in, const Node& node) {
  return is_fp32(in, node) ? lerp(in, node, node.inputs[2]) : Result<bool>(false);
}

constexpr RewriteRow kArithmeticRewrites[] = {
    {AtenOp::addcmul_default, addcmul},       {AtenOp::addcdiv_default, addcdiv},
    {AtenOp::hypot_default, hypot},           {AtenOp::logaddexp_default, logaddexp},
    {AtenOp::logaddexp2_default, logaddexp2}, {AtenOp::lerp_Scalar, lerp_scalar},
    {AtenOp::lerp_Tensor, lerp_tensor},
};
static_assert(rewrites_what_becomes(kArithmeticRewrites));

}  // namespace

std::span<const RewriteRow> arithmetic_rewrites() {
  return kArithmeticRewrites;
}

}  // namespace carina::normalize
