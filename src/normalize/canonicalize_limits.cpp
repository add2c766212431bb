// Rewrites activations with limits to clamp.

#include "normalize/canonicalize_internal.h"

namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

struct Limits {
  ir::Attribute min;
  ir::Attribute max;
};

Result<bool> clamp_between(Rewriter& in, const Node& node, const Limits& limits) {
  return rewritten(
      in.define(node.outputs[0], AtenOp::clamp_default, {node.inputs[0]}, {{"min", limits.min}, {"max", limits.max}}));
}
Result<bool> relu6_to_clamp(Rewriter& in, const Node& node) {
  return clamp_between(in, node, {.min = int64_t{0}, .max = int64_t{6}});
}
Result<bool> hardtanh_to_clamp(Rewriter& in, const Node& node) {
  return clamp_between(in, node, {.min = *node.attributes.find("min_val"), .max = *node.attributes.find("max_val")});
}
Result<bool> clamp_min_to_clamp(Rewriter& in, const Node& node) {
  return clamp_between(in, node, {.min = *node.attributes.find("min"), .max = std::monostate()});
}
Result<bool> clamp_max_to_clamp(Rewriter& in, const Node& node) {
  return clamp_between(in, node, {.min = std::monostate(), .max = *node.attributes.find("max")});
}
Result<bool> clamp_min_to_maximum(Rewriter& in, const Node& node) {
  return rewritten(in.define(node.outputs[0], AtenOp::maximum_default, node.inputs, {}));
}
Result<bool> clamp_max_to_minimum(Rewriter& in, const Node& node) {
  return rewritten(in.define(node.outputs[0], AtenOp::minimum_default, node.inputs, {}));
}

// PyTorch's broadcast rule: shapes are aligned at their last axes.
Shape broadcast_shape(const Shape& a, const Shape& b) {
  Shape result = a.rank() >= b.rank() ? a : b;
  const Shape& other = a.rank() >= b.rank() ? b : a;
  const size_t ahead = result.rank() - other.rank();
  for (size_t i = 0; i < other.rank(); ++i) {
    if (result[ahead + i] == 1) result[ahead + i] = other[i];
  }
  return result;
}

// min(max(x, lower), upper)
Result<bool> clamp_by_tensors(Rewriter& in, const Node& node) {
  const bool has_lower = node.inputs.size() > 1 && node.inputs[1].valid();
  const bool has_upper = node.inputs.size() > 2 && node.inputs[2].valid();
  if (!has_lower && !has_upper) return false;
  const ValueId output = node.outputs[0], x = node.inputs[0];
  if (!has_upper) return rewritten(in.define(output, AtenOp::maximum_default, {x, node.inputs[1]}, {}));
  if (!has_lower) return rewritten(in.define(output, AtenOp::minimum_default, {x, node.inputs[2]}, {}));
  const Shape shape = broadcast_shape(in.shape(x), in.shape(node.inputs[1]));
  ir::Value raised{
      .name = node.name + "_maximum", .dtype = in[output].dtype, .shape = shape, .quantization = {}, .constant = {}};
  const ValueId above = in.make_value(AtenOp::maximum_default, {x, node.inputs[1]}, {}, std::move(raised));
  return rewritten(in.define(output, AtenOp::minimum_default, {above, node.inputs[2]}, {}));
}

constexpr RewriteRow kCanonicalizeLimitsRows[] = {
    {AtenOp::relu6_default, relu6_to_clamp},          {AtenOp::hardtanh_default, hardtanh_to_clamp},
    {AtenOp::clamp_min_default, clamp_min_to_clamp},  {AtenOp::clamp_max_default, clamp_max_to_clamp},
    {AtenOp::clamp_Tensor, clamp_by_tensors},         {AtenOp::clamp_min_Tensor, clamp_min_to_maximum},
    {AtenOp::clamp_max_Tensor, clamp_max_to_minimum},
};
static_assert(rewrites_what_becomes(kCanonicalizeLimitsRows));

}  // namespace

std::span<const RewriteRow> canonical_limits() {
  return kCanonicalizeLimitsRows;
}

}  // namespace carina::normalize
