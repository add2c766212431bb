// What:   a pad of height and width with zeros becomes the padding of the convolution behind it.
// Before: %p = PAD(%x, [0,0,1,1,1,1,0,0], zp); %c = CONV2D(%p, ..., zp) {pad=[0,0,0,0]}
// After:  %c = CONV2D(%x, ..., zp) {pad=[1,1,1,1]}
// Needs:  constant padding; the pad's value is the convolution's input zero point.
// Gives:  no PAD between an image and a convolution whose kernel is larger than the padding.
// Legal:  the convolution takes elements outside the image as its input zero point.

#include "lower/emitter_internal.h"
#include "lower/tosa_passes/passes_internal.h"

#include <cstring>

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

bool convolves(const Node& node) { return node.op == ir::Op(TosaOp::CONV2D) || node.op == ir::Op(TosaOp::DEPTHWISE_CONV2D); }

bool same_constant(const ir::Graph& graph, ValueId a, ValueId b) {
  return graph[a].constant && graph[b].constant && identical(*graph[a].constant, *graph[b].constant);
}

void fold_into(ir::Graph& graph, Node& conv, const Node& pad) {
  const std::vector<int64_t> amounts = integers_of(*graph[pad.inputs[1]].constant);
  if (amounts.size() != 8 || amounts[0] + amounts[1] + amounts[6] + amounts[7] != 0) return;
  if (!same_constant(graph, pad.inputs[2], conv.inputs[3])) return;
  const Shape& weight = graph[conv.inputs[1]].shape;
  const bool depthwise = conv.op == ir::Op(TosaOp::DEPTHWISE_CONV2D);
  const auto& dilation = conv.attributes.integers("dilation");
  std::vector<int64_t> padding = conv.attributes.integers("pad");
  for (size_t i = 0; i < 4; ++i) {
    padding[i] += amounts[2 + i];
    const int64_t extent = dilation[i / 2] * (weight[(depthwise ? 0 : 1) + i / 2] - 1) + 1;
    if (padding[i] >= extent) return;
  }
  conv.attributes.set("pad", padding);
  conv.inputs[0] = pad.inputs[0];
}

}  // namespace

Result<void> fold_padding(ir::Graph& graph, const Log&) {
  const auto producer = ir::producers(graph);
  for (Node& node : graph.nodes) {
    if (!convolves(node)) continue;
    const ir::NodeId before = producer[node.inputs[0].index()];
    if (before.valid() && graph[before].op == ir::Op(TosaOp::PAD)) fold_into(graph, node, graph[before]);
  }
  ir::remove_dead(graph);
  return {};
}

}  // namespace carina::lower
