#include <algorithm>
#include <array>
#include <numeric>

#include "quantize/sharing.h"
#include "quantize/wide_tail_internal.h"
#include "quantize/wide_values.h"

namespace carina::quantize {

namespace {

constexpr std::array kShares{0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64};

std::vector<size_t> cheapest_first(const std::vector<int64_t>& cycles) {
  std::vector<size_t> order(cycles.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t n) { return cycles[n]; });
  return order;
}

// `groups` has the group of values that share their parameters, by value.
WideValues wide_but_read_by(const ir::Graph& graph, const std::vector<size_t>& groups,
                            const std::vector<size_t>& expensive) {
  WideValues values;
  std::vector<bool> is_narrow(graph.values.size(), false);
  for (const size_t n : expensive) {
    values.narrow.push_back(graph.nodes[n].name);
    for (const ir::ValueId id : graph.nodes[n].inputs) {
      if (id.valid() && !graph[id].constant) is_narrow[groups[id.index()]] = true;
    }
  }
  const auto narrow = [&](ir::ValueId id) { return id.valid() && is_narrow[groups[id.index()]]; };
  const NodeScheme wide = **parse_scheme("int16x8");
  if (std::ranges::none_of(graph.inputs, narrow))
    values.wide.push_back({.of = Override::Of::kInputs, .name = {}, .scheme = wide});
  for (const ir::Node& node : graph.nodes) {
    if (std::ranges::none_of(node.outputs, narrow))
      values.wide.push_back({.of = Override::Of::kNode, .name = node.name, .scheme = wide});
  }
  return values;
}

}  // namespace

std::vector<int64_t> estimated_cycles(const ir::Graph& graph) {
  constexpr int64_t kPairsInCycle = 256, kElementsInCycle = 8, kCyclesOfNode = 32;
  std::vector<int64_t> cycles;
  for (const ir::Node& node : graph.nodes) {
    int64_t elements = 0;
    for (const ir::ValueId id : node.outputs) elements += id.valid() ? graph[id].shape.elements() : 0;
    cycles.push_back(multiplications_of(graph, node) / kPairsInCycle + elements / kElementsInCycle + kCyclesOfNode);
  }
  return cycles;
}

std::vector<Override> all_values_wide(const ir::Graph& graph) {
  const std::vector<bool> left_float(graph.nodes.size(), false);
  return wide_but_read_by(graph, sharing_of(graph, left_float, Extrema::kShare).group, {}).wide;
}

std::vector<WideValues> wide_but_expensive(const ir::Graph& graph, const std::vector<int64_t>& cycles) {
  const auto all = static_cast<double>(std::accumulate(cycles.begin(), cycles.end(), int64_t{0}));
  const std::vector<size_t> order = cheapest_first(cycles);
  const std::vector<bool> left_float(graph.nodes.size(), false);
  const std::vector<size_t> groups = sharing_of(graph, left_float, Extrema::kShare).group;
  std::vector<WideValues> found;
  size_t cheap = 0, last = order.size() + 1;
  double paid = 0;
  for (const double share : kShares) {
    while (cheap < order.size() && paid + static_cast<double>(cycles[order[cheap]]) <= share * all)
      paid += static_cast<double>(cycles[order[cheap++]]);
    if (cheap == order.size() || cheap == last) continue;
    last = cheap;
    const std::vector<size_t> expensive(order.begin() + static_cast<std::ptrdiff_t>(cheap), order.end());
    WideValues values = wide_but_read_by(graph, groups, expensive);
    values.share = share;
    if (!values.wide.empty()) found.push_back(std::move(values));
  }
  return found;
}

}  // namespace carina::quantize
