// Walks from the readers to the values that they read: nodes from last to first. A value is scores if no reader said
// otherwise, so that one pass over all operands is enough.
#include <algorithm>
#include <cmath>
#include <ranges>

#include "facts/aten_traits.h"
#include "quantize/softmax_scores_internal.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::ValueId;

class Walk {
 public:
  explicit Walk(const ir::Graph& graph)
      : graph_(graph), users_(ir::users(graph)), producers_(ir::producers(graph)), scores_(ir::is_output(graph)) {
    scores_.flip();
    for (size_t v = 0; v < scores_.size(); ++v) scores_[v] = scores_[v] && !users_[v].empty();
  }

  std::vector<bool> run() && {
    for (const Node& node : graph_.nodes | std::views::reverse) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i].valid() && !takes_scores(node, i)) scores_[node.inputs[i].index()] = false;
      }
    }
    return std::move(scores_);
  }

 private:
  [[nodiscard]] bool takes_scores(const Node& node, size_t operand) const {
    if (!node.op.is_aten()) return false;
    switch (node.op.aten()) {
      case AtenOp::sub_Tensor:
        return operand == 0 && is_shift_of_softmax(node);
      case AtenOp::amax_default:
        return std::ranges::all_of(users_[node.outputs.front().index()], [&](ir::NodeId user) {
          return graph_[user].op == ir::Op(AtenOp::sub_Tensor) && is_shift_of_softmax(graph_[user]);
        });
      case AtenOp::exp_default: {
        const ir::NodeId shift = producers_[node.inputs.front().index()];
        return shift.valid() && graph_[shift].op == ir::Op(AtenOp::sub_Tensor) && is_shift_of_softmax(graph_[shift]);
      }
      case AtenOp::gt_Tensor:
      case AtenOp::ge_Tensor:
      case AtenOp::eq_Tensor:
        return true;
      case AtenOp::where_self:
      case AtenOp::add_Tensor:
        return are_scores(node);
      default:
        return traits_of(node.op.aten()).data != AtenData::kComputed && are_scores(node);
    }
  }

  // x - amax(x), which only exp() reads
  [[nodiscard]] bool is_shift_of_softmax(const Node& node) const {
    const ir::NodeId amax = node.inputs[1].valid() ? producers_[node.inputs[1].index()] : ir::NodeId();
    if (!amax.valid() || graph_[amax].op != ir::Op(AtenOp::amax_default)) return false;
    if (graph_[amax].inputs.front() != node.inputs.front()) return false;
    return std::ranges::all_of(users_[node.outputs.front().index()],
                               [&](ir::NodeId user) { return graph_[user].op == ir::Op(AtenOp::exp_default); });
  }

  [[nodiscard]] bool are_scores(const Node& node) const {
    return std::ranges::all_of(node.outputs, [&](ValueId id) { return id.valid() && scores_[id.index()]; });
  }

  const ir::Graph& graph_;
  std::vector<std::vector<ir::NodeId>> users_;
  std::vector<ir::NodeId> producers_;
  std::vector<bool> scores_;  // so far
};

}  // namespace

float masked_score(std::span<const float> scores, const Shape& shape) {
  const size_t row = shape.rank() == 0 ? 1 : std::max<size_t>(1, static_cast<size_t>(shape[shape.rank() - 1]));
  float lowest = INFINITY;
  for (size_t begin = 0; begin < scores.size(); begin += row) {
    const float top = *std::ranges::max_element(scores.subspan(begin, std::min(row, scores.size() - begin)));
    if (top > kMaskedScore) lowest = std::min(lowest, top);
  }
  return (std::isfinite(lowest) ? lowest : 0) - kHidden;
}

std::vector<bool> softmax_scores(const ir::Graph& graph) {
  return Walk(graph).run();
}

}  // namespace carina::quantize
