// Rewrites windows over a whole image, and images with axes longer than the target's limit.

#include <algorithm>

#include "legalize/legalize_internal.h"

namespace carina::legalize {
namespace {

using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

// Rewrites a max-pool over a whole image to the maximum along its axes.
Result<bool> greatest_of_all(normalize::Rewriter& in, const Node& node, const lower::Target&) {
  const Shape image = in.shape(node.inputs[0]), out = in.shape(node.outputs[0]);
  const Ints kernel = node.attributes.integers("kernel_size");
  if (image.rank() != 4 || out[2] != 1 || out[3] != 1 || kernel != Ints{image[2], image[3]} ||
      node.attributes.integers("padding") != Ints{0, 0} || node.attributes.integers("dilation") != Ints{1, 1})
    return false;
  return normalize::rewritten(
      in.define(node.outputs[0], AtenOp::amax_default, {node.inputs[0]}, {{"dim", Ints{2, 3}}, {"keepdim", true}}));
}

// The elements along one axis that a convolution reads for `count` results from `first` on.
struct Reach {
  int64_t stride, padding, reach;  // `reach`: extent of the dilated kernel
  [[nodiscard]] int64_t start(int64_t first) const { return first * stride - padding; }
  [[nodiscard]] int64_t size(int64_t count) const { return (count - 1) * stride + reach; }
};

Reach reach_of(const normalize::Rewriter& in, const Node& node, size_t axis) {
  return {.stride = node.attributes.integers("stride")[axis],
          .padding = node.attributes.integers("padding")[axis],
          .reach = window_reach(in, node, axis)};
}

// Computes a part of the results along an axis, from the padded input elements that it reads.
ValueId part(normalize::Rewriter& in, const Node& node, size_t axis, int64_t first, int64_t count) {
  const Reach reach = reach_of(in, node, axis);
  const int64_t size = in.shape(node.inputs[0])[2 + axis];
  Margins margins{.before = {0, 0}, .after = {0, 0}};
  margins.before[axis] = -reach.start(first);
  margins.after[axis] = reach.start(first) + reach.size(count) - size;
  ir::Attributes attributes = node.attributes;
  Ints padding = attributes.integers("padding");
  padding[axis] = 0;
  attributes.set("padding", padding);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = with_margins(in, node.inputs[0], margins);
  Shape shape = in.shape(node.outputs[0]);
  shape[2 + axis] = count;
  return quantized_like(in, in.make(AtenOp::conv2d_default, inputs, attributes, shape), node.outputs[0]);
}

Result<bool> convolution_in_parts(normalize::Rewriter& in, const Node& node, const lower::Target& target) {
  const Shape image = in.shape(node.inputs[0]), out = in.shape(node.outputs[0]);
  const int64_t max = target.limits.axis_elems;
  if (image.rank() != 4 || image[1] > max || out[1] > max) return false;
  const size_t axis = image[2] > max || out[2] > max ? 0 : 1;
  const Reach reach = reach_of(in, node, axis);
  const int64_t other = std::max(image[3 - axis], out[3 - axis]);
  const int64_t each = std::min(max, (max - reach.reach) / reach.stride + 1);
  if (other > max || each < 1) return false;
  std::vector<ValueId> parts;
  for (int64_t first = 0; first < out[2 + axis]; first += each)
    parts.push_back(part(in, node, axis, first, std::min(each, out[2 + axis] - first)));
  return normalize::rewritten(
      in.define(node.outputs[0], AtenOp::cat_default, parts, {{"dim", static_cast<int64_t>(2 + axis)}}));
}

constexpr LegalizeRow kExtentRows[] = {
    {.rule = "window.height",
     .op = AtenOp::max_pool2d_default,
     .change = "the greatest element of each image, as a reduction",
     .rewrite = greatest_of_all},
    {.rule = "window.elements",
     .op = AtenOp::max_pool2d_default,
     .change = "the greatest element of each image, as a reduction",
     .rewrite = greatest_of_all},
    {.rule = "axis.size",
     .op = AtenOp::conv2d_default,
     .change = "the long axis in parts that are joined",
     .rewrite = convolution_in_parts},
};

}  // namespace

std::span<const LegalizeRow> extent_rows() {
  return kExtentRows;
}

}  // namespace carina::legalize
