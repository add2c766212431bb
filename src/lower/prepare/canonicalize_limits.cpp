// Activations with limits.

#include "lower/prepare/canonicalize_internal.h"

namespace carina::lower {
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
      in.into(node.outputs[0], AtenOp::clamp_default, {node.inputs[0]}, {{"min", limits.min}, {"max", limits.max}}));
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
  return rewritten(in.into(node.outputs[0], AtenOp::maximum_default, node.inputs, {}));
}
Result<bool> clamp_max_to_minimum(Rewriter& in, const Node& node) {
  return rewritten(in.into(node.outputs[0], AtenOp::minimum_default, node.inputs, {}));
}

constexpr RewriteRow kCanonicalizeLimitsRows[] = {
    {AtenOp::relu6_default, relu6_to_clamp},          {AtenOp::hardtanh_default, hardtanh_to_clamp},
    {AtenOp::clamp_min_default, clamp_min_to_clamp},  {AtenOp::clamp_max_default, clamp_max_to_clamp},
    {AtenOp::clamp_min_Tensor, clamp_min_to_maximum}, {AtenOp::clamp_max_Tensor, clamp_max_to_minimum},
};
static_assert(rewrites_what_becomes(kCanonicalizeLimitsRows));

}  // namespace

std::span<const RewriteRow> canonical_limits() {
  return kCanonicalizeLimitsRows;
}

}  // namespace carina::lower
