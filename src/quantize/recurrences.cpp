// Unrolled recurrences: each step computes the same gates, functions of sums of the same weights' products. If the
// operands of a function have the same parameters in all steps, as have its results, its lookup table is one constant,
// which the planner stores once, and which the NPU keeps while it needs no other.
//   Example: a GRU of 16 steps has 32 sigmoids and 16 hyperbolic tangents, so 48 tables of 2 KiB in 16 bits; with
//   shared parameters, 2.
// Which nodes belong together: those of one operator, of which one depends on another, and whose operands are sums,
// products and parts of results of the same weights. Heads that apply the same weights to several images do not depend
// on each other and share nothing. Weights are the same if they are the same bytes: calibration gives each product its
// own value of a weight. A block that a network repeats has weights of its own bytes in all repetitions, too, but its
// sums go on to the next one without a function between them, and grow: x = x + W f(U x). Such blocks share nothing.
// Nor do products before functions that do not saturate, whose results grow as well.
// The products before the gates share the parameters of their operands and results, too. Products of the same weights
// that do so are one layer, with one set of statistics that the bias is corrected by. So the weights, the bias and the
// scales of all steps are one constant each; with biases of their own, 16 steps of an LSTM of 32 took 20 KB of scales
// from flash, half of all that it read. A function of the state (the tanh of an LSTM's cell) is no gate: there are
// functions between it and the products. The state grows over the first steps, and a common scale costs 0.6 dB in int8
// for 2 % of the cycles. In 16 bits it costs nothing that could be measured, and the tables are a third of the cycles
// of a cell of 32 (ADR 0134): there the widest range holds for all steps. Only functions that saturate: others are
// steep (the 1/sqrt of a norm) where ranges differ. The sets of weights are small: they begin at each product. The
// analysis takes linear time in practice.
#include "quantize/recurrences_internal.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "facts/aten_traits.h"
#include "quantize/headroom_internal.h"
#include "quantize/sharing.h"

namespace carina::quantize {
namespace {

using ir::Node;
using ir::ValueId;
using Weights = std::vector<ValueId>;  // in order, without repetition

constexpr size_t kMaxWeights = 16;  // of a sum; more do not come from one cell

// The weights of a product: of values with the same bytes the first one.
class WeightsOf {
 public:
  explicit WeightsOf(const ir::Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes) {
      const auto role = weight_role_of(node);
      if (!role) continue;
      const ValueId id = node.inputs[role->weight];
      if (const auto& constant = graph[id].constant) first_.emplace(constant->data.data(), id);
    }
  }
  // Invalid: the node is no product.
  [[nodiscard]] ValueId operator()(const Node& node) const {
    const auto role = weight_role_of(node);
    if (!role) return {};
    const ValueId id = node.inputs[role->weight];
    const auto& constant = graph_[id].constant;
    return constant ? first_.at(constant->data.data()) : id;
  }

 private:
  const ir::Graph& graph_;
  std::unordered_map<const std::byte*, ValueId> first_;
};

void add(Weights& all, const Weights& some) {
  Weights joined;
  std::ranges::set_union(all, some, std::back_inserter(joined));
  all = std::move(joined);
}

// For each value, the weights of the products that it is made of, elementwise or as a part: without a function in
// between, or through functions.
enum class Through { kArithmetic, kFunctions };
std::vector<Weights> weights_before(const ir::Graph& graph, const WeightsOf& weights_of, Through through) {
  std::vector<Weights> before(graph.values.size());
  for (const Node& node : graph.nodes) {
    Weights weights;
    if (const ValueId own = weights_of(node); own.valid()) {
      weights = {own};
    } else if (node.op.is_aten()) {
      const AtenFamily family = traits_of(node.op.aten()).family;
      const bool passes = family == AtenFamily::kMovement || family == AtenFamily::kArithmetic ||
                          family == AtenFamily::kLimit ||
                          (family == AtenFamily::kFunction && through == Through::kFunctions);
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

// The products of each of the weights.
using Products = std::map<ValueId, std::vector<size_t>>;
Products products_by_weights(const ir::Graph& graph, const WeightsOf& weights_of, const std::vector<bool>& left_float) {
  Products products;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ValueId weights = weights_of(graph.nodes[n]);
    if (weights.valid() && !left_float[n]) products[weights].push_back(n);
  }
  return products;
}

// Whether one of the products reads a sum that a repetition makes: of products by weights that an earlier one of them
// depends on.
bool reads_sums_of_repetitions(const ir::Graph& graph, const std::vector<size_t>& nodes,
                               const std::vector<Weights>& before, const Products& products) {
  const auto is_repeated = [&](ValueId weights) {
    const auto found = products.find(weights);
    return found != products.end() && found->second.size() > 1 && depends_on_first(graph, found->second);
  };
  std::set<ValueId> read;
  for (const size_t n : nodes) {
    const Weights& sums = before[graph.nodes[n].inputs.front().index()];
    read.insert(sums.begin(), sums.end());
  }
  return std::ranges::any_of(read, is_repeated);
}

void join(const ir::Graph& graph, const std::vector<size_t>& nodes, UnionFind& groups) {
  const Node& first = graph.nodes[nodes.front()];
  for (const size_t n : nodes) {
    groups.join(first.inputs.front().index(), graph.nodes[n].inputs.front().index());
    groups.join(first.outputs.front().index(), graph.nodes[n].outputs.front().index());
  }
}

// The functions that `is_step` selects, with the same operator and the same weights before them, of which one depends
// on another.
using Steps = std::map<std::pair<AtenOp, ValueId>, std::vector<size_t>>;
Steps steps_of(const ir::Graph& graph, const std::vector<Weights>& before, const std::vector<bool>& is_step) {
  Steps steps;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!is_step[n]) continue;
    for (const ValueId weights : before[node.inputs.front().index()]) steps[{node.op.aten(), weights}].push_back(n);
  }
  std::erase_if(steps,
                [&](const auto& entry) { return entry.second.size() < 2 || !depends_on_first(graph, entry.second); });
  return steps;
}

bool is_function(const Node& node) {
  return node.op.is_aten() && traits_of(node.op.aten()).family == AtenFamily::kFunction && node.inputs.size() == 1;
}

}  // namespace

void join_gates_of_recurrences(const ir::Graph& graph, const std::vector<bool>& left_float, UnionFind& groups) {
  std::vector<bool> is_step(graph.nodes.size());
  for (size_t n = 0; n < is_step.size(); ++n) is_step[n] = !left_float[n] && is_function(graph.nodes[n]);
  const WeightsOf weights_of(graph);
  const std::vector<Weights> before = weights_before(graph, weights_of, Through::kArithmetic);
  const Products products = products_by_weights(graph, weights_of, left_float);
  for (const auto& [what, nodes] : steps_of(graph, before, is_step)) {
    const auto found = products.find(what.second);
    if (found != products.end() && found->second.size() > 1) {
      if (!saturates(what.first) || reads_sums_of_repetitions(graph, found->second, before, products)) continue;
      join(graph, found->second, groups);
    }
    join(graph, nodes, groups);
  }
}

std::vector<size_t> layers_of(const ir::Graph& graph, const std::vector<bool>& left_float,
                              std::span<const size_t> group_of) {
  std::vector<size_t> layer_of(graph.values.size());
  std::iota(layer_of.begin(), layer_of.end(), size_t{0});
  const WeightsOf weights_of(graph);
  std::map<std::array<size_t, 3>, size_t> first;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const ValueId weights = weights_of(node);
    if (left_float[n] || !weights.valid()) continue;
    const size_t result = node.outputs.front().index();
    const std::array same{weights.index(), group_of[node.inputs.front().index()], group_of[result]};
    layer_of[result] = first.emplace(same, result).first->second;
  }
  return layer_of;
}

void widen_states_of_recurrences(const ir::Graph& graph, std::span<const size_t> group_of,
                                 std::span<std::optional<Quantization>> parameters) {
  const auto is_wide = [&](size_t group) { return parameters[group] && parameters[group]->dtype == DType::kInt16; };
  std::vector<bool> is_step(graph.nodes.size());
  for (size_t n = 0; n < is_step.size(); ++n) {
    const Node& node = graph.nodes[n];
    is_step[n] = is_function(node) && saturates(node.op.aten()) && is_wide(group_of[node.inputs.front().index()]) &&
                 is_wide(group_of[node.outputs.front().index()]);
  }
  if (std::ranges::find(is_step, true) == is_step.end()) return;  // as in all networks of 8 bits
  const WeightsOf weights_of(graph);
  const std::vector<Weights> of_gates = weights_before(graph, weights_of, Through::kArithmetic);
  for (size_t n = 0; n < is_step.size(); ++n) {
    if (is_step[n]) is_step[n] = of_gates[graph.nodes[n].inputs.front().index()].empty();
  }
  UnionFind sets(graph.values.size());
  for (size_t v = 0; v < group_of.size(); ++v) sets.join(group_of[v], v);
  for (const auto& [what, nodes] : steps_of(graph, weights_before(graph, weights_of, Through::kFunctions), is_step))
    join(graph, nodes, sets);
  std::vector<double> widest(parameters.size(), 0);
  for (size_t group = 0; group < parameters.size(); ++group) {
    double& scale = widest[sets.find(group)];
    if (is_wide(group)) scale = std::max(scale, parameters[group]->scale());
  }
  for (size_t group = 0; group < parameters.size(); ++group) {
    if (is_wide(group)) parameters[group]->scales.front() = widest[sets.find(group)];
  }
}

}  // namespace carina::quantize
