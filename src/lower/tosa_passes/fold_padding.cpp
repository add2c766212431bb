// What:   padding of height and width with zeros becomes the padding of the convolution after it.
// Before: %p = PAD(%x, [0,0,1,1,1,1,0,0], zp); %c = CONV2D(%p, ..., zp) {pad=[0,0,0,0]}
// After:  %c = CONV2D(%x, ..., zp) {pad=[1,1,1,1]}
// Needs:  constant padding; the pad's value is the convolution's input zero point.
// Gives:  no PAD between an image and a convolution whose kernel is larger than the padding.
// Legal:  the convolution reads its input zero point outside of the image.

#include <optional>

#include "ir/emitter.h"
#include "lower/tosa_passes/passes.h"
#include "tensor/elements.h"
#include "tensor/permutation.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

bool convolves(const Node& node) {
  return node.op == ir::Op(TosaOp::CONV2D) || node.op == ir::Op(TosaOp::DEPTHWISE_CONV2D);
}

bool same_constant(const ir::Graph& graph, ValueId a, ValueId b) {
  return graph[a].constant && graph[b].constant && identical(*graph[a].constant, *graph[b].constant);
}

// The sum of the padding of the convolution and the pad. No value if the pad is not one of height and width, or is not
// smaller than the kernel.
std::optional<std::vector<int64_t>> joint_padding(const ir::Graph& graph, const Node& conv,
                                                  const std::vector<int64_t>& amounts) {
  if (amounts.size() != 8 || amounts[0] + amounts[1] + amounts[6] + amounts[7] != 0) return std::nullopt;
  const Shape& weight = graph[conv.inputs[1]].shape;
  const bool depthwise = conv.op == ir::Op(TosaOp::DEPTHWISE_CONV2D);
  const auto& dilation = conv.attributes.integers("dilation");
  std::vector<int64_t> padding = conv.attributes.integers("pad");
  for (size_t i = 0; i < 4; ++i) {
    padding[i] += amounts[2 + i];
    const int64_t extent = dilation[i / 2] * (weight[(depthwise ? 0 : 1) + i / 2] - 1) + 1;
    if (padding[i] >= extent) return std::nullopt;
  }
  return padding;
}

std::vector<int64_t> permuted_pairs(const std::vector<int64_t>& pairs, const Perms& perms) {
  std::vector<int64_t> moved;
  for (const int64_t axis : perms)
    moved.insert(moved.end(), {pairs[static_cast<size_t>(2 * axis)], pairs[static_cast<size_t>(2 * axis + 1)]});
  return moved;
}

class PaddingFolder {
 public:
  explicit PaddingFolder(ir::Graph& graph)
      : graph_(graph), out_(graph), producer_(ir::producers(graph)), nodes_(std::exchange(graph.nodes, {})) {}

  void run() {
    for (const Node& node : nodes_) {
      Node folded = node;
      if (convolves(node)) fold(folded);
      graph_.add_node(std::move(folded));
    }
    ir::remove_dead(graph_);
  }

 private:
  [[nodiscard]] const Node* producer(ValueId id, TosaOp op) const {
    const ir::NodeId node = id.index() < producer_.size() ? producer_[id.index()] : ir::NodeId();
    return node.valid() && nodes_[node.index()].op == ir::Op(op) ? &nodes_[node.index()] : nullptr;
  }

  // Folds a PAD directly before the convolution, or with one TRANSPOSE between them.
  void fold(Node& conv) {
    const Node* transpose = producer(conv.inputs[0], TosaOp::TRANSPOSE);
    const Node* pad = producer(transpose == nullptr ? conv.inputs[0] : transpose->inputs[0], TosaOp::PAD);
    if (pad == nullptr || !same_constant(graph_, pad->inputs[2], conv.inputs[3])) return;
    std::vector<int64_t> amounts = integers_of(*graph_[pad->inputs[1]].constant);
    if (transpose != nullptr) amounts = permuted_pairs(amounts, transpose->attributes.integers("perms"));
    const auto padding = joint_padding(graph_, conv, amounts);
    if (!padding) return;
    conv.attributes.set("pad", *padding);
    out_.set_origin_of(conv);
    conv.inputs[0] =
        transpose == nullptr ? pad->inputs[0] : out_.transpose(pad->inputs[0], transpose->attributes.integers("perms"));
  }

  ir::Graph& graph_;
  ir::Emitter out_;
  std::vector<ir::NodeId> producer_;
  std::vector<Node> nodes_;
};

}  // namespace

Result<void> fold_padding(ir::Graph& graph, const Log&) {
  PaddingFolder(graph).run();
  return {};
}

}  // namespace carina::lower
