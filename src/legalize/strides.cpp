// Rewrites windows with strides above the target's limit. For a dense convolution, blocks as wide as the stride become
// channels, and the window moves by one block; the integer products and sums are the same. Other windows are computed
// at every position, and the needed positions are selected.
// [N,C,B0*H,B1*W] -> [N,C*B0*B1,H,W]

#include <algorithm>

#include "legalize/legalize_internal.h"
#include "normalize/slices.h"

namespace carina::legalize {
namespace {

using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

// [N,C,B0*H,B1*W] -> [N,C*B0*B1,H,W]
ValueId blocks_as_channels(normalize::Rewriter& in, ValueId image, const Ints& block) {
  const Shape s = in.shape(image);
  const int64_t rows = s[2] / block[0], columns = s[3] / block[1];
  const ValueId apart = in.view(image, Shape{s[0], s[1], rows, block[0], columns, block[1]});
  return in.view(normalize::permuted_axes(in, apart, {0, 1, 3, 5, 2, 4}),
                 Shape{s[0], s[1] * block[0] * block[1], rows, columns});
}

// Reorders weights [O,C,KH,KW] in the same way. The kernel is padded with zeros to a whole number of blocks.
Tensor blocks_as_channels(const Tensor& weights, const Ints& block, const Ints& blocks) {
  const Shape from = weights.shape;
  const Shape to{from[0], from[1] * block[0] * block[1], blocks[0], blocks[1]};
  MutableTensor result(weights.dtype, to);
  const size_t size = element_bytes(weights.dtype);
  std::ranges::fill(result.bytes(), std::byte{0});
  for (int64_t i = 0; i < from.elements(); ++i) {
    const int64_t x = i % from[3], y = i / from[3] % from[2], c = i / (from[3] * from[2]);  // c: over all outputs
    const int64_t channel = (c * block[0] + y % block[0]) * block[1] + x % block[1];
    const int64_t index = (channel * blocks[0] + y / block[0]) * blocks[1] + x / block[1];
    std::copy_n(weights.data.data() + static_cast<size_t>(i) * size, size,
                result.bytes().data() + static_cast<size_t>(index) * size);
  }
  return std::move(result).freeze();
}

// The block size per axis: the stride if the target does not support it, otherwise 1.
Ints blocks_of_stride(const Ints& stride, const lower::Target& target) {
  Ints block;
  for (const int64_t s : stride) block.push_back(s > target.limits.stride ? s : 1);
  return block;
}

bool is_dense(const normalize::Rewriter& in, const Node& node) {
  return node.attributes.integer("groups") == 1 && node.attributes.integers("dilation") == Ints{1, 1} &&
         in.shape(node.inputs[0]).rank() == 4 && in[node.inputs[1]].constant.has_value();
}

Result<bool> convolution_by_blocks(normalize::Rewriter& in, const Node& node, const lower::Target& target) {
  if (!is_dense(in, node)) return false;
  const Ints stride = stride_of(node), padding = node.attributes.integers("padding");
  const Ints block = blocks_of_stride(stride, target);
  const Shape image = in.shape(node.inputs[0]), kernel = in.shape(node.inputs[1]), out = in.shape(node.outputs[0]);
  if (image[1] * block[0] * block[1] > target.limits.axis_elems) return false;
  Ints blocks;
  Margins margins;
  for (size_t a = 0; a < 2; ++a) {
    const bool apart = block[a] > 1;
    blocks.push_back((kernel[2 + a] + block[a] - 1) / block[a]);
    const int64_t wanted = apart ? (out[2 + a] - 1 + blocks[a]) * block[a] : image[2 + a];
    margins.before.push_back(apart ? padding[a] : 0);
    margins.behind.push_back(wanted - image[2 + a] - margins.before[a]);
  }
  const ValueId x = blocks_as_channels(in, with_margins(in, node.inputs[0], margins), block);
  const ValueId weights = quantized_like(
      in,
      in.constant(in[node.inputs[1]].name + "_blocks", blocks_as_channels(*in[node.inputs[1]].constant, block, blocks)),
      node.inputs[1]);
  ir::Attributes attributes = node.attributes;
  attributes.set("stride", Ints{block[0] > 1 ? 1 : stride[0], block[1] > 1 ? 1 : stride[1]});
  attributes.set("padding", Ints{block[0] > 1 ? 0 : padding[0], block[1] > 1 ? 0 : padding[1]});
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = x;
  inputs[1] = weights;
  return normalize::rewritten(
      in.into(node.outputs[0], AtenOp::conv2d_default, std::move(inputs), std::move(attributes)));
}

Result<bool> all_offsets(normalize::Rewriter& in, const Node& node, const lower::Target& target) {
  const bool overhangs = node.attributes.find("ceil_mode") != nullptr && node.attributes.get<bool>("ceil_mode");
  if (in.shape(node.inputs[0]).rank() != 4 || overhangs) return false;
  const Ints stride = stride_of(node), step = blocks_of_stride(stride, target);
  const Shape out = in.shape(node.outputs[0]);
  Shape all = out;
  for (size_t a = 0; a < 2; ++a) {
    if (step[a] == 1) continue;
    all[2 + a] =
        in.shape(node.inputs[0])[2 + a] + 2 * node.attributes.integers("padding")[a] - window_reach(in, node, a) + 1;
  }
  ir::Attributes attributes = node.attributes;
  attributes.set("stride", Ints{step[0] > 1 ? 1 : stride[0], step[1] > 1 ? 1 : stride[1]});
  ValueId x = in.make(node.op.aten(), node.inputs, std::move(attributes), all);
  x = quantized_like(in, x, node.outputs[0]);
  for (size_t a = 0; a < 2; ++a) x = picked(in, x, {.axis = 2 + a, .start = 0, .count = out[2 + a], .step = step[a]});
  return normalize::rewritten(in.view_into(node.outputs[0], x));
}

constexpr LegalizeRow kStrideRows[] = {
    {.rule = "window.stride",
     .op = AtenOp::conv2d_default,
     .change = "blocks as wide as the stride become channels, over which the kernel moves by one",
     .rewrite = convolution_by_blocks},
    {.rule = "window.stride",
     .op = AtenOp::conv2d_default,
     .change = "the kernel moves by one, and every so many of its results are picked",
     .rewrite = all_offsets},
    {.rule = "window.stride",
     .op = AtenOp::max_pool2d_default,
     .change = "the pool moves by one, and every so many of its results are picked",
     .rewrite = all_offsets},
    {.rule = "window.stride",
     .op = AtenOp::avg_pool2d_default,
     .change = "the pool moves by one, and every so many of its results are picked",
     .rewrite = all_offsets},
};

}  // namespace

std::span<const LegalizeRow> stride_rows() {
  return kStrideRows;
}

}  // namespace carina::legalize
