// Rewrites divisions with rounding. A float dividend may be divided by a scalar; all other dividends are divided by a
// tensor.

#include <cmath>

#include "normalize/canonicalize_internal.h"
#include "tensor/elements.h"

namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

bool divides_floats(const Rewriter& in, const Node& node) {
  return in[node.inputs[0]].dtype == DType::kFp32 && in[node.outputs[0]].dtype == DType::kFp32;
}

// The value of a constant with a single element.
std::optional<double> single(const ir::Value& value) {
  if (!value.constant || value.quantization || value.shape.elements() != 1) return std::nullopt;
  const auto numbers = numbers_of(*value.constant);
  return numbers ? std::optional(numbers->front()) : std::nullopt;
}

ValueId divisor_of(Rewriter& in, const Node& node) {
  return constant_of(in, node, node.attributes.number("other"), in[node.outputs[0]].dtype);
}

Attributes without_other(const Node& node) {
  Attributes attributes;
  for (const auto& [name, value] : node.attributes.list()) {
    if (name != "other") attributes.set(name, value);
  }
  return attributes;
}

template <AtenOp kTo>
Result<bool> by_tensor(Rewriter& in, const Node& node) {
  if (divides_floats(in, node)) return false;
  return rewritten(in.define(node.outputs[0], kTo, {node.inputs[0], divisor_of(in, node)}, without_other(node)));
}

// The scalar has no shape, so the dividend must have the shape of the result.
template <AtenOp kTo>
Result<bool> by_scalar(Rewriter& in, const Node& node) {
  const std::optional<double> divisor = single(in[node.inputs[1]]);
  if (!divisor || !divides_floats(in, node) || in.shape(node.inputs[0]) != in.shape(node.outputs[0])) return false;
  Attributes attributes = node.attributes;
  attributes.set("other", *divisor);
  return rewritten(in.define(node.outputs[0], kTo, {node.inputs[0]}, std::move(attributes)));
}

template <AtenOp kTo, AtenOp kPlain>
Result<bool> by_mode(Rewriter& in, const Node& node, Result<bool> (*rounded)(Rewriter&, const Node&)) {
  if (!node.attributes.is_none("rounding_mode")) return rounded(in, node);
  return rewritten(
      in.define(node.outputs[0], kPlain, node.inputs,
                kPlain == AtenOp::div_Scalar ? Attributes{{"other", *node.attributes.find("other")}} : Attributes{}));
}

Result<bool> div_tensor_mode(Rewriter& in, const Node& node) {
  return by_mode<AtenOp::div_Tensor_mode, AtenOp::div_Tensor>(in, node, by_scalar<AtenOp::div_Scalar_mode>);
}
Result<bool> div_scalar_mode(Rewriter& in, const Node& node) {
  return by_mode<AtenOp::div_Scalar_mode, AtenOp::div_Scalar>(in, node, by_tensor<AtenOp::div_Tensor_mode>);
}

template <AtenOp kTo>
Result<bool> floor_divide(Rewriter& in, const Node& node) {
  Attributes attributes = node.attributes;
  attributes.set("rounding_mode", std::string("floor"));
  return rewritten(in.define(node.outputs[0], kTo, node.inputs, std::move(attributes)));
}

Result<bool> scalar_by_tensor(Rewriter& in, const Node& node) {
  const ValueId dividend = constant_of(in, node, node.attributes.number("self"), in[node.outputs[0]].dtype);
  return rewritten(in.define(node.outputs[0], AtenOp::remainder_Tensor, {dividend, node.inputs[0]}, {}));
}

// round(x * 10^decimals) / 10^decimals
Result<bool> round_to_decimals(Rewriter& in, const Node& node) {
  const int64_t decimals = node.attributes.integer("decimals");
  const ValueId x = node.inputs[0], output = node.outputs[0];
  if (decimals == 0 || !is_float(in[x].dtype)) return rewritten(in.define(output, AtenOp::round_default, {x}, {}));
  const double factor = std::pow(10.0, std::abs(decimals));
  const AtenOp there = decimals > 0 ? AtenOp::mul_Scalar : AtenOp::div_Scalar;
  const AtenOp back = decimals > 0 ? AtenOp::div_Scalar : AtenOp::mul_Scalar;
  const ValueId scaled = in.make(there, {x}, {{"other", factor}}, in.shape(x));
  return rewritten(
      in.define(output, back, {in.make(AtenOp::round_default, {scaled}, {}, in.shape(x))}, {{"other", factor}}));
}

constexpr RewriteRow kCanonicalizeDivisionsRows[] = {
    {AtenOp::div_Tensor_mode, div_tensor_mode},
    {AtenOp::div_Scalar_mode, div_scalar_mode},
    {AtenOp::divide_Tensor_mode, renamed<AtenOp::div_Tensor_mode>},
    {AtenOp::divide_Scalar_mode, renamed<AtenOp::div_Scalar_mode>},
    {AtenOp::floor_divide_default, floor_divide<AtenOp::div_Tensor_mode>},
    {AtenOp::floor_divide_Scalar, floor_divide<AtenOp::div_Scalar_mode>},
    {AtenOp::remainder_Tensor, by_scalar<AtenOp::remainder_Scalar>},
    {AtenOp::remainder_Scalar, by_tensor<AtenOp::remainder_Tensor>},
    {AtenOp::remainder_Scalar_Tensor, scalar_by_tensor},
    {AtenOp::fmod_Tensor, by_scalar<AtenOp::fmod_Scalar>},
    {AtenOp::fmod_Scalar, by_tensor<AtenOp::fmod_Tensor>},
    {AtenOp::round_decimals, round_to_decimals},
};
static_assert(rewrites_what_becomes(kCanonicalizeDivisionsRows));

}  // namespace

std::span<const RewriteRow> canonical_divisions() {
  return kCanonicalizeDivisionsRows;
}

}  // namespace carina::normalize
