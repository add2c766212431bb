#include <functional>
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

ValueId scaled(Rewriter& in, ValueId x, double factor) {
  return product(in, x, in.scalar(factor, DType::kFp32), in.shape(x));
}

// x + value * a * b
Result<bool> addcmul(Rewriter& in, const Node& node) {
  if (!is_fp32(in, node)) return false;
  const Shape shape = in.shape(node.outputs[0]);
  const double value = node.attributes.number("value");
  ValueId term = product(in, node.inputs[1], node.inputs[2], shape);
  if (value != 1) term = scaled(in, term, value);
  return rewritten(in.define(node.outputs[0], AtenOp::add_Tensor, {node.inputs[0], term}, no_alpha()));
}

// x + value * a / b
Result<bool> addcdiv(Rewriter& in, const Node& node) {
  if (!is_fp32(in, node)) return false;
  const Shape shape = in.shape(node.outputs[0]), of_divisor = in.shape(node.inputs[2]);
  const double value = node.attributes.number("value");
  const ValueId inverse = in.make(AtenOp::reciprocal_default, {node.inputs[2]}, {}, of_divisor);
  ValueId term = product(in, node.inputs[1], inverse, shape);
  if (value != 1) term = scaled(in, term, value);
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

// max(a, b) + rest(|a - b|)
Result<bool> add_to_larger(Rewriter& in, const Node& node, const std::function<ValueId(ValueId)>& rest) {
  if (!is_fp32(in, node)) return false;
  const Shape shape = in.shape(node.outputs[0]);
  const ValueId difference = in.make(AtenOp::sub_Tensor, node.inputs, no_alpha(), shape);
  const ValueId added = rest(in.unary(AtenOp::abs_default, difference));
  const ValueId larger = in.make(AtenOp::maximum_default, node.inputs, {}, shape);
  return rewritten(in.define(node.outputs[0], AtenOp::add_Tensor, {larger, added}, no_alpha()));
}

// max(a, b) + log1p(exp(-|a - b|))
Result<bool> logaddexp(Rewriter& in, const Node& node) {
  return add_to_larger(in, node, [&](ValueId distance) {
    const ValueId power = in.unary(AtenOp::exp_default, in.unary(AtenOp::neg_default, distance));
    return in.unary(AtenOp::log1p_default, power);
  });
}

// max(a, b) + log1p(2^-|a - b|) / ln 2
Result<bool> logaddexp2(Rewriter& in, const Node& node) {
  return add_to_larger(in, node, [&](ValueId distance) {
    const ValueId exponent = scaled(in, distance, -std::numbers::ln2);
    const ValueId power = in.unary(AtenOp::exp_default, exponent);
    return scaled(in, in.unary(AtenOp::log1p_default, power), std::numbers::log2e);
  });
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
