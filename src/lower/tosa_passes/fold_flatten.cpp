// What:   a transposition that is only flattened for a linear layer is applied to the layer's weights instead.
// Before: %t = TRANSPOSE(%x [1,4,4,64]) {[0,3,1,2]}; %f = RESHAPE(%t) [1,1,1,1024]; %y = CONV2D(%f, %w)
// After:  %f = RESHAPE(%x) [1,1,1,1024]; %y = CONV2D(%f, %w'), the columns of %w' in the order of %x
// Needs:  constant 1x1 weights.
// Gives:  no TRANSPOSE between an image and a linear layer on its pixels.
// Legal:  a sum of products does not depend on the order of its terms: exact in integers, up to rounding in floats.

#include "ir/emitter.h"
#include "lower/tosa_passes/passes.h"
#include "tensor/permutation.h"

#include <cstring>

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

// `order` maps each flattened feature to its index in the tensor before the transposition.
Tensor reordered_columns(const Tensor& weight, const std::vector<size_t>& order) {
  MutableTensor result(weight.dtype, weight.shape);
  const size_t bytes = element_bytes(weight.dtype), rows = weight.data.size() / bytes / order.size();
  for (size_t row = 0; row < rows; ++row) {
    const std::byte* from = weight.data.data() + row * order.size() * bytes;
    std::byte* to = result.bytes().data() + row * order.size() * bytes;
    for (size_t k = 0; k < order.size(); ++k) std::memcpy(to + order[k] * bytes, from + k * bytes, bytes);
  }
  return std::move(result).freeze();
}

void fold_into(ir::Graph& graph, Node& conv, const Node& reshape, const Node& transpose) {
  const Shape from = graph[transpose.inputs[0]].shape;
  const Perms perms = transpose.attributes.integers("perms");
  const ir::Value weight = graph[conv.inputs[1]];
  const Shape image = graph[reshape.outputs[0]].shape;
  const bool pointwise = weight.constant && weight.shape[1] == 1 && weight.shape[2] == 1;
  const bool rows_stay =
      perms[0] == 0 && image.rank() == 4 && image[0] * image[1] * image[2] == from[0] && image[3] == weight.shape[3];
  if (!pointwise || !rows_stay || from.elements() == 0) return;
  Shape one = from;
  one[0] = 1;
  ir::Emitter out(graph);
  const ValueId columns =
      out.constant(weight.name + ".flat", reordered_columns(*weight.constant, source_indices(one, perms)));
  // The new RESHAPE of the untransposed tensor replaces the old one, so that the nodes stay in order.
  conv.inputs[1] = columns;
  conv.inputs[0] =
      graph.add_value(reordered_name(graph[reshape.outputs[0]].name), graph[reshape.outputs[0]].dtype, image);
}

}  // namespace

Result<void> fold_flatten(ir::Graph& graph, const Log&) {
  const auto producer = ir::producers(graph);
  std::vector<Node> nodes = std::exchange(graph.nodes, {});
  const auto made_by = [&](ValueId value, TosaOp op) -> const Node* {
    const ir::NodeId id = value.index() < producer.size() ? producer[value.index()] : ir::NodeId();
    return id.valid() && nodes[id.index()].op == ir::Op(op) ? &nodes[id.index()] : nullptr;
  };
  for (size_t n = 0; n < nodes.size(); ++n) {
    Node conv = nodes[n];
    if (conv.op == ir::Op(TosaOp::CONV2D)) {
      const Node* reshape = made_by(conv.inputs[0], TosaOp::RESHAPE);
      const Node* transpose = reshape == nullptr ? nullptr : made_by(reshape->inputs[0], TosaOp::TRANSPOSE);
      const ValueId before = conv.inputs[0];
      if (transpose != nullptr) fold_into(graph, conv, *reshape, *transpose);
      if (conv.inputs[0] != before) {
        graph.add_node({.op = TosaOp::RESHAPE,
                        .name = reshape->name,
                        .inputs = {transpose->inputs[0], reshape->inputs[1]},
                        .outputs = {conv.inputs[0]},
                        .attributes = {},
                        .source = reshape->source,
                        .origin = reshape->origin});
      }
    }
    graph.add_node(std::move(conv));
  }
  ir::remove_dead(graph);
  return {};
}

}  // namespace carina::lower
