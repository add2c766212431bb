// Activations with parameters or two halves, as products, limits and choices.

#include "facts/aten_traits.h"
#include "lower/prepare/decompose_internal.h"
#include "lower/prepare/pieces_internal.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

// max(x, 0) + weight * min(x, 0); one weight for all is leaky_relu's slope.
Result<bool> prelu(Rewriter& in, const Node& node) {
  const ValueId x = node.inputs[0], weight = node.inputs[1];
  if (!is_fp32(in, node)) return false;
  if (in[weight].constant && in.shape(weight).elements() == 1) {
    const double slope = in[weight].constant->values<float>()[0];
    return rewritten(in.into(node.outputs[0], AtenOp::leaky_relu_default, {x}, {{"negative_slope", slope}}));
  }
  const Shape shape = in.shape(x);
  Shape per_channel(std::vector<int64_t>(shape.rank(), 1));
  if (shape.rank() > 1) per_channel[1] = in.shape(weight).elements();
  const ValueId below = in.make(AtenOp::clamp_default, {x}, {{"min", std::monostate()}, {"max", int64_t{0}}}, shape);
  const ValueId scaled = in.make(AtenOp::mul_Tensor, {below, in.view(weight, per_channel)}, {}, shape);
  const ValueId above = in.make(AtenOp::relu_default, {x}, {}, shape);
  return rewritten(in.into(node.outputs[0], AtenOp::add_Tensor, {above, scaled}, no_alpha()));
}

Result<bool> glu(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]), half = in.shape(node.outputs[0]);
  if (!is_fp32(in, node) || shape.rank() == 0) return false;
  const size_t axis = axis_of(node.attributes.integer("dim"), shape.rank());
  const ValueId value = slice(in, node.inputs[0], axis, 0, half[axis]);
  const ValueId gate = slice(in, node.inputs[0], axis, half[axis], shape[axis]);
  return rewritten(
      in.into(node.outputs[0], AtenOp::mul_Tensor, {value, in.make(AtenOp::sigmoid_default, {gate}, {}, half)}, {}));
}

Result<bool> softshrink(Rewriter& in, const Node& node) {
  const double edge = node.attributes.number("lambd");
  if (!is_fp32(in, node)) return false;
  const ValueId middle =
      in.make(AtenOp::clamp_default, {node.inputs[0]}, {{"min", -edge}, {"max", edge}}, in.shape(node.inputs[0]));
  return rewritten(in.into(node.outputs[0], AtenOp::sub_Tensor, {node.inputs[0], middle}, no_alpha()));
}

// where(tested > edge, x, otherwise)
Result<bool> above(Rewriter& in, const Node& node, ValueId tested, double edge, double otherwise) {
  ir::Value condition{.name = node.name + "_above",
                      .dtype = DType::kBool,
                      .shape = in.shape(node.inputs[0]),
                      .quantization = {},
                      .constant = {}};
  const ValueId mask = in.make_value(AtenOp::gt_Scalar, {tested}, {{"other", edge}}, std::move(condition));
  return rewritten(
      in.into(node.outputs[0], AtenOp::where_self, {mask, node.inputs[0], in.scalar(otherwise, DType::kFp32)}, {}));
}

Result<bool> threshold(Rewriter& in, const Node& node) {
  if (!is_fp32(in, node)) return false;
  return above(in, node, node.inputs[0], node.attributes.number("threshold"), node.attributes.number("value"));
}

Result<bool> hardshrink(Rewriter& in, const Node& node) {
  if (!is_fp32(in, node)) return false;
  const ValueId magnitude = in.make(AtenOp::abs_default, {node.inputs[0]}, {}, in.shape(node.inputs[0]));
  return above(in, node, magnitude, node.attributes.number("lambd"), 0);
}

Result<bool> frac(Rewriter& in, const Node& node) {
  if (!is_fp32(in, node)) return false;
  const ValueId whole = in.make(AtenOp::trunc_default, {node.inputs[0]}, {}, in.shape(node.inputs[0]));
  return rewritten(in.into(node.outputs[0], AtenOp::sub_Tensor, {node.inputs[0], whole}, no_alpha()));
}

constexpr RewriteRow kDecomposeActivationsRows[] = {
    {AtenOp::prelu_default, prelu},           {AtenOp::glu_default, glu},
    {AtenOp::softshrink_default, softshrink}, {AtenOp::threshold_default, threshold},
    {AtenOp::hardshrink_default, hardshrink}, {AtenOp::frac_default, frac},
};
static_assert(rewrites_what_becomes(kDecomposeActivationsRows));

}  // namespace

std::span<const RewriteRow> activation_rewrites() {
  return kDecomposeActivationsRows;
}

}  // namespace carina::lower
