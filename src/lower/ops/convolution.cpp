// Lowers convolutions and linear layers to CONV2D or DEPTHWISE_CONV2D, followed by a RESCALE per output channel.

#include "lower/ops/convolution_internal.h"

#include <algorithm>

#include "facts/aten_traits.h"
#include "lower/ops/window_internal.h"
#include "tensor/filled_tensor.h"

namespace carina::lower {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

std::string weight_name(const Lowering& in, const Node& node, std::string_view layout) {
  return in.value(node.inputs[1]).name + std::string(layout);
}

// OIHW -> OHWI
ValueId dense_weight(Lowering& in, const Node& node, ValueId weight) {
  return reordered_weight(in, weight, {0, 2, 3, 1}, weight_name(in, node, ".ohwi"));
}

// [C*M,1,KH,KW] -> [KH,KW,C,M]
ValueId depthwise_weight(Lowering& in, const Node& node, ValueId weight, int64_t channels) {
  const Shape s = in.out.shape(weight);
  const ValueId split = in.out.reshape(weight, Shape{channels, s[0] / channels, s[2], s[3]});
  return reordered_weight(in, split, {2, 3, 0, 1}, weight_name(in, node, ".hwcm"));
}

// A grouped convolution that is not depthwise: one convolution per group, on its part of the channels.
ValueId grouped(Lowering& in, const Node& node, ValueId image, const ConvolutionOperands& operands,
                const Attributes& window, Shape result) {
  const int64_t groups = node.attributes.integer("groups");
  const int64_t channels = in.out.shape(image)[3] / groups;
  result[3] /= groups;
  std::vector<ValueId> results;
  for (int64_t g = 0; g < groups; ++g) {
    const ValueId part = part_of(in, image, 3, g * channels, channels);
    const ConvolutionOperands own = group_of(in, operands, g, groups);
    const ValueId sum = convolve(in, TosaOp::CONV2D, part, own, dense_weight(in, node, own.weight), window, result);
    results.push_back(scaled(in, node, sum, own.scales));
  }
  return in.out.concat(results, 3);
}

// The taps of a kernel, along one axis, that overlap the image at some window position. All other taps read padding
// only. Example: the widest dilations of DeepLab on small images. If all taps do, `none` is set and one tap is kept.
// Example: kernel 2, dilation 3 and padding 1 on 2 elements reads positions -1 and 2.
struct Taps {
  int64_t first;
  int64_t count;
  bool none;
};

Taps taps_of(const Node& node, const Shape& image, const Shape& kernel, const Shape& result, size_t axis) {
  const int64_t dilation = node.attributes.integers("dilation")[axis];
  const int64_t padding = node.attributes.integers("padding")[axis];
  const int64_t way = (result[2 + axis] - 1) * node.attributes.integers("stride")[axis];
  const auto meets = [&](int64_t tap) {
    const int64_t position = tap * dilation - padding;
    return position < image[2 + axis] && position + way >= 0;
  };
  int64_t first = 0, last = kernel[2 + axis] - 1;
  while (first < last && !meets(first) && padding >= (first + 1) * dilation) ++first;
  while (last > first && !meets(last)) --last;
  return {.first = first, .count = last - first + 1, .none = first == last && !meets(first)};
}

// Selects these rows and columns of weights [O,I,KH,KW]. Weights that read padding only become one tap of zeros.
Result<ValueId> with_taps(Lowering& in, const Node& node, ValueId weight, const Taps& rows, const Taps& columns) {
  const Shape all = in.out.shape(weight);
  if (rows.none || columns.none) {
    if (!in.out.graph()[weight].constant) return fail(normalize::about(node, "the kernel lies outside of its input"));
    const DType type = in.out.dtype(weight);
    return in.out.constant(in.out.graph()[weight].name + ".taps", filled_tensor(type, Shape{all[0], all[1], 1, 1}, 0));
  }
  if (rows.count == all[2] && columns.count == all[3]) return weight;
  const Shape kept{all[0], all[1], rows.count, columns.count};
  const auto constant = in.out.graph()[weight].constant;
  if (!constant) return in.out.slice(weight, {0, 0, rows.first, columns.first}, kept);
  MutableTensor part(constant->dtype, kept);
  const auto size = static_cast<int64_t>(element_bytes(constant->dtype));
  const std::byte* from = constant->data.data();
  std::byte* to = part.bytes().data();
  for (int64_t row = 0; row < all[0] * all[1] * rows.count; ++row) {
    const int64_t whole = row / rows.count * all[2] + rows.first + row % rows.count;
    to = std::copy_n(from + (whole * all[3] + columns.first) * size, columns.count * size, to);
  }
  return in.out.constant(in.out.graph()[weight].name + ".taps", std::move(part).freeze());
}

Result<ValueId> conv2d(Lowering& in, const Node& node) {
  CARINA_TRY(ConvolutionOperands operands, convolution_operands(in, node, {}));
  const Attributes& attributes = node.attributes;
  const Shape from = in.shape(node.inputs[0]), result = in.shape(node.outputs[0]), kernel = in.shape(node.inputs[1]);
  const auto& padding = attributes.integers("padding");
  std::vector<int64_t> dilation = attributes.integers("dilation");
  Taps rows = taps_of(node, from, kernel, result, 0), columns = taps_of(node, from, kernel, result, 1);
  if (rows.none || columns.none) rows = columns = {.first = 0, .count = 1, .none = true};
  const WindowPlan plan =
      plan_windows({.kernel = {rows.count, columns.count},
                    .stride = attributes.integers("stride"),
                    .dilation = dilation,
                    .pad = {rows.none ? 0 : padding[0] - rows.first * dilation[0], padding[0],
                            columns.none ? 0 : padding[1] - columns.first * dilation[1], padding[1]}},
                   from, result);
  CARINA_TRY(operands.weight, with_taps(in, node, operands.weight, rows, columns));
  if (rows.count == 1) dilation[0] = 1;
  if (columns.count == 1) dilation[1] = 1;
  const ValueId image = trimmed(in.out, in.out.to_nhwc(in.operand(node.inputs[0])), plan);
  const Attributes window{{"pad", plan.pad}, {"stride", plan.stride}, {"dilation", dilation}};
  const Shape sums{result[0], result[2], result[3], result[1]};
  const int64_t groups = attributes.integer("groups"), channels = from[1];
  if (groups > 1 && groups != channels) return in.out.to_nchw(grouped(in, node, image, operands, window, sums));
  const bool depthwise = groups > 1;
  const ValueId weight =
      depthwise ? depthwise_weight(in, node, operands.weight, channels) : dense_weight(in, node, operands.weight);
  const TosaOp op = depthwise ? TosaOp::DEPTHWISE_CONV2D : TosaOp::CONV2D;
  const ValueId sum = convolve(in, op, image, operands, weight, window, sums);
  return in.out.to_nchw(scaled(in, node, sum, operands.scales));
}

// [...,K] with weights [N,K]: a 1x1 convolution over an image whose height is the number of rows.
Result<ValueId> linear(Lowering& in, const Node& node) {
  const Shape from = in.shape(node.inputs[0]), result = in.shape(node.outputs[0]);
  const int64_t channels = in.shape(node.inputs[1])[0], depth = in.shape(node.inputs[1])[1];
  if (from.rank() == 0 || depth == 0) return fail(normalize::about(node, "linear on a scalar or on no features"));
  CARINA_TRY(const ConvolutionOperands operands, convolution_operands(in, node, {}));
  const int64_t rows = from.elements() / depth;
  const ValueId image = in.out.reshape(in.operand(node.inputs[0]), Shape{1, rows, 1, depth});
  const ValueId weight = reordered_weight(in, in.out.reshape(operands.weight, Shape{channels, 1, 1, depth}),
                                          {0, 1, 2, 3}, weight_name(in, node, ".ohwi"));
  const Attributes window{{"pad", std::vector<int64_t>{0, 0, 0, 0}},
                          {"stride", std::vector<int64_t>{1, 1}},
                          {"dilation", std::vector<int64_t>{1, 1}}};
  const ValueId sum = convolve(in, TosaOp::CONV2D, image, operands, weight, window, Shape{1, rows, 1, channels});
  return in.out.reshape(scaled(in, node, sum, operands.scales), result);
}

bool is_depthwise(const Candidate& c) {
  const int64_t groups = c.node.attributes.integer("groups");
  return groups > 1 && groups == c.input(0).shape[1];
}

// Steps of a dense window that are as long as its stride become channels, so any stride is supported.
Rejected check_convolution_stride(const Candidate& c, const std::vector<int64_t>& kernel) {
  std::vector<int64_t> stride = c.node.attributes.integers("stride");
  const auto &dilation = c.node.attributes.integers("dilation"), &padding = c.node.attributes.integers("padding");
  if (dilation == std::vector<int64_t>{1, 1} && !is_depthwise(c)) return std::nullopt;
  for (size_t axis = 0; axis < 2; ++axis) {
    if (kernel[axis] == 1 && padding[axis] == 0) stride[axis] = 1;  // elements are skipped by their addresses
  }
  return check_stride(c, stride);
}

Rejected conv2d_fits(const Candidate& c) {
  const Shape &image = c.input(0).shape, &weight = c.input(1).shape, &result = c.output().shape;
  const std::vector<int64_t> kernel{taps_of(c.node, image, weight, result, 0).count,
                                    taps_of(c.node, image, weight, result, 1).count};
  return first_of({check_weights(c), check_axes(c, c.input(0)), check_axes(c, c.output()),
                   check_convolution_kernel(c, kernel, c.node.attributes.integers("dilation")),
                   check_convolution_stride(c, kernel)});
}

Rejected linear_fits(const Candidate& c) {
  return first_of({check_weights(c), check_axes(c, c.input(1))});
}

constexpr LoweringRow kConvolutionRows[] = {
    {.op = AtenOp::conv2d_default, .integers = PlainIntegers::kNone, .legal = conv2d_fits, .lower = conv2d},
    {.op = AtenOp::conv3d_default,
     .integers = PlainIntegers::kNone,
     .legal = convolution_3d_fits,
     .lower = convolution_3d},
    {.op = AtenOp::conv_transpose2d_input,
     .integers = PlainIntegers::kNone,
     .legal = transposed_convolution_fits,
     .lower = transposed_convolution},
    {.op = AtenOp::linear_default, .integers = PlainIntegers::kNone, .legal = linear_fits, .lower = linear},
};
static_assert(lowers_all_of(kConvolutionRows, {AtenFamily::kConvolution}));

}  // namespace

std::span<const LoweringRow> convolution_rows() {
  return kConvolutionRows;
}

}  // namespace carina::lower
