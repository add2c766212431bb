// Lowers 3D convolutions to CONV3D, followed by a RESCALE per output channel.

#include "lower/ops/convolution_internal.h"
#include "lower/ops/window_internal.h"

namespace carina::lower {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

const std::vector<int64_t> kChannelsLast{0, 2, 3, 4, 1};  // [N,C,D,H,W] -> [N,D,H,W,C]
const std::vector<int64_t> kChannelsFirst{0, 4, 1, 2, 3};

// The convolution of one group of channels, in the output's type.
ValueId summed(Lowering& in, const Node& node, ValueId volume, const ConvolutionOperands& operands,
               const Attributes& window, const Shape& result) {
  const ValueId weight = reordered_weight(in, operands.weight, kChannelsLast, in.value(node.inputs[1]).name + ".odhwi");
  return scaled(in, node, convolve(in, TosaOp::CONV3D, volume, operands, weight, window, result), operands.scales);
}

WindowPlan plan_of(const Lowering& in, const Node& node) {
  const Attributes& attributes = node.attributes;
  const Shape kernel = in.shape(node.inputs[1]);
  std::vector<int64_t> pad;
  for (const int64_t side : attributes.integers("padding")) pad.insert(pad.end(), {side, side});
  return plan_windows({.kernel = {kernel[2], kernel[3], kernel[4]},
                       .stride = attributes.integers("stride"),
                       .dilation = attributes.integers("dilation"),
                       .pad = std::move(pad)},
                      in.shape(node.inputs[0]), in.shape(node.outputs[0]));
}

}  // namespace

// TOSA has neither groups nor depthwise kernels in three dimensions, so each group becomes one convolution.
Result<ValueId> convolution_3d(Lowering& in, const Node& node) {
  CARINA_TRY(const ConvolutionOperands operands, convolution_operands(in, node, {}));
  const WindowPlan plan = plan_of(in, node);
  const int64_t groups = node.attributes.integer("groups");
  const ValueId volume = trimmed(in.out, in.out.transpose(in.operand(node.inputs[0]), kChannelsLast), plan);
  const Attributes window{
      {"pad", plan.pad}, {"stride", plan.stride}, {"dilation", node.attributes.integers("dilation")}};
  const Shape out = in.shape(node.outputs[0]);
  const Shape result{out[0], out[2], out[3], out[4], out[1] / groups};
  const int64_t channels = in.out.shape(volume)[4] / groups;
  std::vector<ValueId> results;
  for (int64_t g = 0; g < groups; ++g) {
    const ValueId part = part_of(in, volume, 4, g * channels, channels);
    const ConvolutionOperands own = groups == 1 ? operands : group_of(in, operands, g, groups);
    results.push_back(summed(in, node, part, own, window, result));
  }
  return in.out.transpose(in.out.concat(results, 4), kChannelsFirst);
}

Rejected convolution_3d_fits(const Candidate& c) {
  const Shape& weight = c.input(1).shape;
  const auto& dilation = c.node.attributes.integers("dilation");
  return first_of({check_weights(c), check_axes(c, c.input(0)), check_axes(c, c.output()),
                   check_kernel(c, {weight[3], weight[4]}, {dilation[1], dilation[2]}, c.target.limits.kernel)});
}

}  // namespace carina::lower
