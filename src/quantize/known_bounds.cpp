#include "quantize/known_bounds_internal.h"

#include <algorithm>
#include <cmath>

#include "facts/aten_traits.h"

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

// The largest magnitude of a node's results, if it has one for every operand.
std::optional<double> limit_of(const Node& node) {
  if (!node.op.is_aten()) return std::nullopt;
  switch (node.op.aten()) {
    case AtenOp::sigmoid_default:
    case AtenOp::hardsigmoid_default:
    case AtenOp::tanh_default:
    case AtenOp::erf_default:
    case AtenOp::sin_default:
    case AtenOp::cos_default:
      return 1;
    case AtenOp::clamp_default: {
      if (node.attributes.is_none("min") || node.attributes.is_none("max")) return std::nullopt;
      const double min = node.attributes.number("min"), max = node.attributes.number("max");
      const double limit = std::max(std::abs(min), std::abs(max));
      return std::isfinite(limit) ? std::optional(limit) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::vector<std::optional<double>> known_limits(const ir::Graph& graph, std::span<const size_t> group_of) {
  constexpr double kNone = INFINITY;
  const auto group = [&](ValueId id) { return group_of[id.index()]; };
  const auto in_group = [&](const Node& node, size_t number) {
    return std::ranges::any_of(node.outputs, [&](ValueId id) { return group(id) == number; });
  };
  // What nodes with a limit alone read, in their group, is part of them: of conv and clamp, the clamp ends the range.
  std::vector<bool> is_limited(graph.values.size(), false), is_read_otherwise(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) {
      if (!id.valid()) continue;
      (limit_of(node) && in_group(node, group(id)) ? is_limited : is_read_otherwise)[id.index()] = true;
    }
  }
  for (const ValueId id : graph.outputs) {
    if (id.valid()) is_read_otherwise[id.index()] = true;
  }
  std::vector<double> limits(graph.values.size(), 0);
  const auto reach = [&](ValueId id, double limit) {
    if (is_limited[id.index()] && !is_read_otherwise[id.index()]) return;
    limits[group(id)] = std::max(limits[group(id)], limit);
  };
  for (const ValueId id : graph.inputs) reach(id, kNone);
  for (const Node& node : graph.nodes) {
    const bool moves = !limit_of(node) && std::ranges::any_of(node.inputs, [&](ValueId id) {
      return id.valid() && in_group(node, group(id)) && node.op.is_aten() &&
             traits_of(node.op.aten()).data != AtenData::kComputed;
    });
    for (const ValueId id : node.outputs) {
      if (!moves) reach(id, limit_of(node).value_or(kNone));
    }
  }
  std::vector<std::optional<double>> found(graph.values.size());
  for (size_t g = 0; g < limits.size(); ++g) {
    if (limits[g] > 0 && limits[g] != kNone) found[g] = limits[g];
  }
  return found;
}

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
