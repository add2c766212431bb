// Rewrites activations with parameters, and gated activations, to products, limits and selections.

#include <algorithm>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/slices.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

// What the slopes of a prelu allow. Sums and extrema of x and slope * x round less often than two halves of x.
enum class Slopes {
  kAtMostOne,   // max(x, slope * x)
  kAtLeastOne,  // min(x, slope * x)
  kPositive,    // max(x, 0) + min(slope * x, 0)
  kAny          // max(x, 0) + slope * min(x, 0)
};

// A slope of 0 is left to the last form: 0 times an infinity is not a number.
Slopes slopes_of(const ir::Value& weight) {
  if (!weight.constant || weight.constant->dtype != DType::kFp32) return Slopes::kAny;
  const auto values = weight.constant->values<float>();
  const auto all = [&](auto holds) { return std::ranges::all_of(values, holds); };
  if (all([](float v) { return v <= 1 && v != 0; })) return Slopes::kAtMostOne;
  if (all([](float v) { return v >= 1; })) return Slopes::kAtLeastOne;
  return all([](float v) { return v > 0; }) ? Slopes::kPositive : Slopes::kAny;
}

// A single weight becomes the slope of leaky_relu.
Result<bool> prelu(Rewriter& in, const Node& node) {
  const ValueId x = node.inputs[0], weight = node.inputs[1];
  if (!is_fp32(in, node)) return false;
  if (in[weight].constant && in.shape(weight).elements() == 1) {
    const double slope = in[weight].constant->values<float>()[0];
    return rewritten(in.define(node.outputs[0], AtenOp::leaky_relu_default, {x}, {{"negative_slope", slope}}));
  }
  const Shape shape = in.shape(x);
  Shape per_channel(std::vector<int64_t>(shape.rank(), 1));
  if (shape.rank() > 1) per_channel[1] = in.shape(weight).elements();
  const ValueId slopes = in.view(weight, per_channel);
  const auto times_slopes = [&](ValueId value) { return in.make(AtenOp::mul_Tensor, {value, slopes}, {}, shape); };
  const auto below_zero = [&](ValueId value) {
    return in.make(AtenOp::clamp_default, {value}, {{"min", std::monostate()}, {"max", int64_t{0}}}, shape);
  };
  const auto above_zero = [&] { return in.make(AtenOp::relu_default, {x}, {}, shape); };
  const ValueId y = node.outputs[0];
  switch (slopes_of(in[weight])) {
    case Slopes::kAtMostOne:
      return rewritten(in.define(y, AtenOp::maximum_default, {x, times_slopes(x)}, {}));
    case Slopes::kAtLeastOne:
      return rewritten(in.define(y, AtenOp::minimum_default, {x, times_slopes(x)}, {}));
    case Slopes::kPositive:
      return rewritten(in.define(y, AtenOp::add_Tensor, {above_zero(), below_zero(times_slopes(x))}, no_alpha()));
    case Slopes::kAny:
      return rewritten(in.define(y, AtenOp::add_Tensor, {above_zero(), times_slopes(below_zero(x))}, no_alpha()));
  }
  CARINA_UNREACHABLE("slopes", static_cast<int>(slopes_of(in[weight])));
}

Result<bool> glu(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]), half = in.shape(node.outputs[0]);
  if (!is_fp32(in, node) || shape.rank() == 0) return false;
  const size_t axis = axis_of(node.attributes.integer("dim"), shape.rank());
  const ValueId value = slice(in, node.inputs[0], axis, 0, half[axis]);
  const ValueId gate = slice(in, node.inputs[0], axis, half[axis], shape[axis]);
  return rewritten(
      in.define(node.outputs[0], AtenOp::mul_Tensor, {value, in.make(AtenOp::sigmoid_default, {gate}, {}, half)}, {}));
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
