#include "quantize/known_bounds_internal.h"

#include <algorithm>

namespace carina::quantize {

namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

// The node that computes a value if it has this operator, otherwise nullptr.
const Node* made_by(const ir::Graph& graph, const std::vector<NodeId>& producer, ValueId value, AtenOp op) {
  const NodeId id = value.valid() ? producer[value.index()] : NodeId();
  return id.valid() && graph[id].op == ir::Op(op) ? &graph[id] : nullptr;
}

// exp(x - amax(x))
bool is_shifted_exponential(const ir::Graph& graph, const std::vector<NodeId>& producer, ValueId value) {
  const Node* exp = made_by(graph, producer, value, AtenOp::exp_default);
  const Node* sub = exp == nullptr ? nullptr : made_by(graph, producer, exp->inputs[0], AtenOp::sub_Tensor);
  const Node* amax = sub == nullptr ? nullptr : made_by(graph, producer, sub->inputs[1], AtenOp::amax_default);
  return amax != nullptr && amax->inputs[0] == sub->inputs[0];
}

// Probabilities get the scale 1/256 in int8, as PyTorch's fixed parameters for softmax do. Multiples of 1/256 are
// exact, and 1 saturates to 255/256.
double largest_probability(int64_t steps) {
  return static_cast<double>(steps) / static_cast<double>(steps + 1);
}

}  // namespace

std::vector<std::optional<double>> known_upper_bounds(const ir::Graph& graph, int64_t steps) {
  const std::vector<NodeId> producer = ir::producers(graph);
  std::vector<std::optional<double>> bounds(graph.values.size());
  for (const Node& node : graph.nodes) {
    const ValueId result = node.outputs.empty() ? ValueId() : node.outputs.front();
    if (node.op == ir::Op(AtenOp::sum_dim_IntList) && is_shifted_exponential(graph, producer, node.inputs[0])) {
      const int64_t terms =
          graph[node.inputs[0]].shape.elements() / std::max<int64_t>(graph[result].shape.elements(), 1);
      bounds[result.index()] = static_cast<double>(terms);
    }
    if (node.op == ir::Op(AtenOp::reciprocal_default) && bounds[node.inputs[0].index()])
      bounds[result.index()] = largest_probability(steps);
    const bool is_softmax = node.op == ir::Op(AtenOp::mul_Tensor) &&
                            is_shifted_exponential(graph, producer, node.inputs[0]) && bounds[node.inputs[1].index()];
    if (is_softmax) bounds[result.index()] = largest_probability(steps);
  }
  return bounds;
}

Range with_headroom(Range range, std::optional<double> upper_bound) {
  if (upper_bound) range.max = std::max(range.max, std::min(2 * range.max, *upper_bound));
  return range;
}

}  // namespace carina::quantize
