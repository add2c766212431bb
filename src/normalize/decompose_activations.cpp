// Rewrites activations with parameters, and gated activations, to products, limits and selections.

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/slices.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

// max(x, 0) + weight * min(x, 0). A single weight becomes the slope of leaky_relu.
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

constexpr RewriteRow kDecomposeActivationsRows[] = {
    {AtenOp::prelu_default, prelu},
    {AtenOp::glu_default, glu},
};
static_assert(rewrites_what_becomes(kDecomposeActivationsRows));

}  // namespace

std::span<const RewriteRow> activation_rewrites() {
  return kDecomposeActivationsRows;
}

}  // namespace carina::normalize
