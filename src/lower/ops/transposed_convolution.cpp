// Lowers transposed convolutions to TRANSPOSE_CONV2D, followed by a RESCALE per output channel.

#include <algorithm>

#include "lower/ops/convolution_internal.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

// The image that TRANSPOSE_CONV2D writes, and the part of it that is the result.
struct Canvas {
  Ints out_pad;  // TOSA's: top, bottom, left, right
  Ints first;    // rows and columns before the result; PyTorch may cut off more than TOSA's out_pad allows
  Shape size;    // [N,H,W,C]
};

Canvas canvas_of(const Node& node, const Shape& image, const Ints& kernel, const Shape& result) {
  const Ints &stride = node.attributes.integers("stride"), &padding = node.attributes.integers("padding");
  Canvas canvas{.out_pad = {}, .first = {}, .size = result};
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t before = -std::min(padding[axis], kernel[axis] - 1);
    const int64_t reached = (image[1 + axis] - 1) * stride[axis] + kernel[axis];
    canvas.first.push_back(padding[axis] + before);
    const int64_t wanted = canvas.first.back() + result[1 + axis];
    const int64_t after = std::max(wanted - before - reached, 1 - kernel[axis]);
    canvas.out_pad.insert(canvas.out_pad.end(), {before, after});
    canvas.size[1 + axis] = before + reached + after;
  }
  return canvas;
}

// TOSA's transposed convolution has no dilation, so zeros are inserted between the taps of [O,KH,KW,I].
Tensor with_spread_taps(const Tensor& weight, const Ints& dilation) {
  const Shape& s = weight.shape;
  const Shape dilated{s[0], (s[1] - 1) * dilation[0] + 1, (s[2] - 1) * dilation[1] + 1, s[3]};
  MutableTensor result(weight.dtype, dilated);
  std::ranges::fill(result.bytes(), std::byte{0});
  const size_t row = element_bytes(weight.dtype) * static_cast<size_t>(s[3]);
  for (int64_t o = 0; o < s[0]; ++o) {
    for (int64_t y = 0; y < s[1]; ++y) {
      for (int64_t x = 0; x < s[2]; ++x) {
        const auto from = static_cast<size_t>((o * s[1] + y) * s[2] + x);
        const auto to = static_cast<size_t>((o * dilated[1] + y * dilation[0]) * dilated[2] + x * dilation[1]);
        std::ranges::copy(weight.data.bytes().subspan(from * row, row),
                          result.bytes().begin() + static_cast<ptrdiff_t>(to * row));
      }
    }
  }
  return std::move(result).freeze();
}

bool is_dilated(const Node& node) {
  return std::ranges::any_of(node.attributes.integers("dilation"), [](int64_t d) { return d != 1; });
}

// [I,O,KH,KW] -> [O,KH,KW,I]
ValueId kernel_of(Lowering& in, const Node& node, ValueId weight) {
  const std::string name = in.value(node.inputs[1]).name + ".ohwi";
  const ValueId ordered = reordered_weight(in, weight, {1, 2, 3, 0}, name);
  if (!is_dilated(node)) return ordered;
  return in.out.constant(name,
                         with_spread_taps(*in.out.graph()[ordered].constant, node.attributes.integers("dilation")));
}

ValueId added(Lowering& in, const Node& node, ValueId image, const ConvolutionOperands& operands, Shape result) {
  const ValueId weight = kernel_of(in, node, operands.weight);
  const Shape kernel = in.out.shape(weight);
  result[3] = kernel[0];
  const Canvas canvas = canvas_of(node, in.out.shape(image), {kernel[1], kernel[2]}, result);
  const ValueId sum =
      convolve(in, TosaOp::TRANSPOSE_CONV2D, image, operands, weight,
               {{"out_pad", canvas.out_pad}, {"stride", node.attributes.integers("stride")}}, canvas.size);
  return in.out.slice(scaled(in, node, sum, operands.scales), {0, canvas.first[0], canvas.first[1], 0}, result);
}

}  // namespace

Result<ValueId> transposed_convolution(Lowering& in, const Node& node) {
  const int64_t groups = node.attributes.integer("groups");
  if (is_dilated(node) && !in.value(node.inputs[1]).constant)
    return fail(normalize::about(node, "a transposed convolution with dilation needs constant weights"));
  CARINA_TRY(const ConvolutionOperands operands, convolution_operands(in, node, {.axis = 1, .groups = groups}));
  const ValueId image = in.out.to_nhwc(in.operand(node.inputs[0]));
  const Shape out = in.shape(node.outputs[0]);
  const int64_t channels = in.out.shape(image)[3] / groups;
  std::vector<ValueId> results;
  for (int64_t g = 0; g < groups; ++g) {
    const ValueId part = part_of(in, image, 3, g * channels, channels);
    const ConvolutionOperands own = groups == 1 ? operands : group_of(in, operands, g, groups);
    results.push_back(added(in, node, part, own, Shape{out[0], out[2], out[3], out[1] / groups}));
  }
  return in.out.to_nchw(in.out.concat(results, 3));
}

Rejected transposed_convolution_fits(const Candidate& c) {
  const Shape& weight = c.input(1).shape;
  return first_of({check_weights(c, 1), check_axes(c, c.input(0)), check_axes(c, c.output()),
                   check_convolution_kernel(c, {weight[2], weight[3]}, c.node.attributes.integers("dilation"))});
}

}  // namespace carina::lower
