// Rewrites windows with strides above the target's limit: they are computed at every position, and the needed positions
// are selected.

#include <algorithm>

#include "legalize/legalize_internal.h"

namespace carina::legalize {
namespace {

using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

// The distance of the needed positions per axis: the stride if the target does not support it, otherwise 1.
Ints steps_of_stride(const Ints& stride, const lower::Target& target) {
  Ints steps;
  for (const int64_t s : stride) steps.push_back(s > target.limits.stride ? s : 1);
  return steps;
}

Result<bool> all_offsets(normalize::Rewriter& in, const Node& node, const lower::Target& target) {
  const bool overhangs = node.attributes.find("ceil_mode") != nullptr && node.attributes.get<bool>("ceil_mode");
  if (in.shape(node.inputs[0]).rank() != 4 || overhangs) return false;
  const Ints stride = stride_of(node), step = steps_of_stride(stride, target);
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
