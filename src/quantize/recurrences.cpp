// Unrolled recurrences: each step computes the same gates, functions of sums of the same weights' products. If the
// operands of a function have the same parameters in all steps, as have its results, its lookup table is one constant,
// which the planner stores once, and which the NPU keeps while it needs no other.
//   Example: a GRU of 16 steps has 32 sigmoids and 16 hyperbolic tangents, so 48 tables of 2 KiB in 16 bits; with
//   shared parameters, 2.
// Which nodes belong together: those of one operator, of which one depends on another, and whose operands are sums,
// products and parts of results of the same weights. Heads that apply the same weights to several images do not depend
// on each other and share nothing. A function of the state (the tanh of an LSTM's cell) is no gate: the state grows
// over the first steps, and a common scale costs 0.6 dB in int8 for 2 % of the cycles.
// The sets of weights are small: they begin at each product. The analysis takes linear time in practice.
#include "quantize/recurrences_internal.h"

#include <algorithm>
#include <map>
#include <utility>

#include "facts/aten_traits.h"
#include "quantize/sharing.h"

namespace carina::quantize {
namespace {

using ir::Node;
using ir::ValueId;
using Weights = std::vector<ValueId>;  // in order, without repetition

constexpr size_t kMaxWeights = 16;  // of a sum; more do not come from one cell

void add(Weights& all, const Weights& some) {
  Weights joined;
  std::ranges::set_union(all, some, std::back_inserter(joined));
  all = std::move(joined);
}

// For each value, the weights of the products that it is made of, elementwise or as a part, without a function in
// between.
std::vector<Weights> weights_before(const ir::Graph& graph) {
  std::vector<Weights> before(graph.values.size());
  for (const Node& node : graph.nodes) {
    Weights weights;
    if (const auto role = weight_role_of(node)) {
      weights = {node.inputs[role->weight]};
    } else {
      const AtenFamily family = traits_of(node.op.aten()).family;
      const bool passes =
          family == AtenFamily::kMovement || family == AtenFamily::kArithmetic || family == AtenFamily::kLimit;
      for (const ValueId id : node.inputs) {
        if (passes && id.valid()) add(weights, before[id.index()]);
      }
      if (weights.size() > kMaxWeights) weights.clear();
    }
    for (const ValueId id : node.outputs) before[id.index()] = weights;
  }
  return before;
}

// Whether the operand of one of the nodes depends on the result of the first.
bool depends_on_first(const ir::Graph& graph, const std::vector<size_t>& nodes) {
  std::vector<bool> depends(graph.values.size(), false);
  for (const ValueId id : graph.nodes[nodes.front()].outputs) depends[id.index()] = true;
  size_t next = 1;
  for (size_t n = nodes.front() + 1; n <= nodes.back(); ++n) {
    const Node& node = graph.nodes[n];
    const bool does = std::ranges::any_of(node.inputs, [&](ValueId id) { return id.valid() && depends[id.index()]; });
    if (n == nodes[next]) {
      if (does) return true;
      ++next;
    }
    for (const ValueId id : node.outputs) depends[id.index()] = does;
  }
  return false;
}

}  // namespace

void join_steps_of_recurrences(const ir::Graph& graph, const std::vector<bool>& left_float, UnionFind& groups) {
  const std::vector<Weights> before = weights_before(graph);
  std::map<std::pair<AtenOp, ValueId>, std::vector<size_t>> steps;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (left_float[n] || traits_of(node.op.aten()).family != AtenFamily::kFunction || node.inputs.size() != 1) continue;
    for (const ValueId weights : before[node.inputs.front().index()]) steps[{node.op.aten(), weights}].push_back(n);
  }
  for (const auto& [what, nodes] : steps) {
    if (nodes.size() < 2 || !depends_on_first(graph, nodes)) continue;
    const Node& first = graph.nodes[nodes.front()];
    for (const size_t n : nodes) {
      groups.join(first.inputs.front().index(), graph.nodes[n].inputs.front().index());
      groups.join(first.outputs.front().index(), graph.nodes[n].outputs.front().index());
    }
  }
}

}  // namespace carina::quantize
