// Rewrites arithmetic with scalars, and operators that are products or sums under other names.

#include <algorithm>
#include <numbers>

#include "normalize/canonicalize_internal.h"
#include "tensor/elements.h"

namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

// Returns whether a node with 16-bit floats must wait: what is not a single operation of two tensors is computed in
// fp32. The pass widen_halves converts such nodes and then applies these rows again.
bool waits_for_fp32(const Rewriter& in, const Node& node) {
  const DType type = in[node.outputs[0]].dtype;
  return type == DType::kFp16 || type == DType::kBf16;
}

// The scalar operand of a node, or its factor for the second operand, as a constant tensor.
ValueId scalar_like(Rewriter& in, const Node& node, std::string_view attribute) {
  return in.scalar(node.attributes.number(attribute), in[node.outputs[0]].dtype);
}

// The product of the second operand and `alpha`.
ValueId times_alpha(Rewriter& in, const Node& node, ValueId operand) {
  const double alpha = node.attributes.number("alpha");
  if (alpha == 1) return operand;
  const Shape shape = in.shape(operand);
  return in.make(AtenOp::mul_Tensor, {operand, in.scalar(alpha, in[node.outputs[0]].dtype)}, {}, shape);
}

template <AtenOp kTo>
Result<bool> plus_scalar(Rewriter& in, const Node& node) {
  if (waits_for_fp32(in, node)) return false;
  const double other = node.attributes.number("other") * node.attributes.number("alpha");
  const ValueId scalar = in.scalar(other, in[node.outputs[0]].dtype);
  return rewritten(in.define(node.outputs[0], kTo, {node.inputs[0], scalar}, {{"alpha", int64_t{1}}}));
}

bool mixes_types(const Rewriter& in, const Node& node) {
  return std::ranges::any_of(node.inputs, [&](ValueId id) { return in[id].dtype != in[node.outputs[0]].dtype; });
}

// With 16-bit floats the product is rounded too. PyTorch's scalar code and the Arm backend do the same (PyTorch's
// vector code does not).
template <AtenOp kTo>
Result<bool> without_alpha(Rewriter& in, const Node& node) {
  if (node.attributes.number("alpha") == 1 || (waits_for_fp32(in, node) && mixes_types(in, node))) return false;
  const ValueId other = times_alpha(in, node, node.inputs[1]);
  return rewritten(in.define(node.outputs[0], kTo, {node.inputs[0], other}, {{"alpha", int64_t{1}}}));
}

// rsub(self, other) = other - alpha * self
Result<bool> rsub_to_sub(Rewriter& in, const Node& node) {
  if (waits_for_fp32(in, node)) return false;
  const ValueId self = times_alpha(in, node, node.inputs[0]);
  const ValueId other = node.inputs.size() > 1 ? node.inputs[1] : scalar_like(in, node, "other");
  return rewritten(in.define(node.outputs[0], AtenOp::sub_Tensor, {other, self}, {{"alpha", int64_t{1}}}));
}

Result<bool> mul_scalar(Rewriter& in, const Node& node) {
  if (waits_for_fp32(in, node)) return false;
  return rewritten(
      in.define(node.outputs[0], AtenOp::mul_Tensor, {node.inputs[0], scalar_like(in, node, "other")}, {}));
}

// Division of floats. A constant divisor becomes a product with its inverse; any other divisor becomes a product with
// the reciprocal.
Result<bool> div_scalar(Rewriter& in, const Node& node) {
  if (in[node.outputs[0]].dtype != DType::kFp32) return false;
  const ValueId inverse = in.scalar(1 / node.attributes.number("other"), DType::kFp32);
  return rewritten(in.define(node.outputs[0], AtenOp::mul_Tensor, {node.inputs[0], inverse}, {}));
}

Result<bool> div_tensor(Rewriter& in, const Node& node) {
  const ir::Value divisor = in[node.inputs[1]];
  for (const ValueId id : {node.outputs[0], node.inputs[0], node.inputs[1]}) {
    if (in[id].dtype != DType::kFp32) return false;
  }
  if (!divisor.constant) {
    const ValueId inverse = in.make(AtenOp::reciprocal_default, {node.inputs[1]}, {}, divisor.shape);
    return rewritten(in.define(node.outputs[0], AtenOp::mul_Tensor, {node.inputs[0], inverse}, {}));
  }
  MutableTensor inverse(DType::kFp32, divisor.shape);
  const bool is_float = divisor.constant->dtype == DType::kFp32;
  const Tensor floats = is_float ? *divisor.constant : dequantized(*divisor.constant, *divisor.quantization);
  std::ranges::transform(floats.values<float>(), inverse.values<float>().begin(), [](float v) { return 1 / v; });
  const ValueId constant = in.constant(divisor.name + "_inverse", std::move(inverse).freeze());
  return rewritten(in.define(node.outputs[0], AtenOp::mul_Tensor, {node.inputs[0], constant}, {}));
}

Result<bool> times(Rewriter& in, const Node& node, double factor) {
  if (in[node.outputs[0]].dtype != DType::kFp32 || in[node.inputs[0]].dtype != DType::kFp32) return false;
  return rewritten(
      in.define(node.outputs[0], AtenOp::mul_Tensor, {node.inputs[0], in.scalar(factor, DType::kFp32)}, {}));
}
Result<bool> degrees_to_radians(Rewriter& in, const Node& node) {
  return times(in, node, std::numbers::pi / 180);
}
Result<bool> radians_to_degrees(Rewriter& in, const Node& node) {
  return times(in, node, 180 / std::numbers::pi);
}

Result<bool> square_to_mul(Rewriter& in, const Node& node) {
  return rewritten(in.define(node.outputs[0], AtenOp::mul_Tensor, {node.inputs[0], node.inputs[0]}, {}));
}

Result<bool> pow_by_exponent(Rewriter& in, const Node& node) {
  const double exponent = node.attributes.number("exponent");
  if (exponent == 2) return square_to_mul(in, node);
  const auto unary = [&](AtenOp op) { return rewritten(in.define(node.outputs[0], op, {node.inputs[0]}, {})); };
  if (exponent == 0.5) return unary(AtenOp::sqrt_default);
  if (exponent == -0.5) return unary(AtenOp::rsqrt_default);
  if (exponent == -1) return unary(AtenOp::reciprocal_default);
  if (exponent == 1) return unary(AtenOp::clone_default);
  return false;
}

constexpr RewriteRow kCanonicalizeArithmeticRows[] = {
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
    {AtenOp::deg2rad_default, degrees_to_radians},
    {AtenOp::rad2deg_default, radians_to_degrees},
    {AtenOp::square_default, square_to_mul},
    {AtenOp::pow_Tensor_Scalar, pow_by_exponent},
    {AtenOp::max_other, renamed<AtenOp::maximum_default>},
    {AtenOp::min_other, renamed<AtenOp::minimum_default>},
};
static_assert(rewrites_what_becomes(kCanonicalizeArithmeticRows));

}  // namespace

std::span<const RewriteRow> canonical_arithmetic() {
  return kCanonicalizeArithmeticRows;
}

}  // namespace carina::normalize
