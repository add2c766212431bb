#include "partition/grouping_internal.h"

#include <algorithm>
#include <queue>
#include <set>

#include "base/union_find.h"
#include "carina/check.h"

// Greedy merging of groups. Each node is a unit at first. Two units that may run on the NPU are merged if no path leads
// from one to the other through a third, which would make a group that waits for itself. Edges come first, since
// neighbors in one group exchange values inside the delegate; then pairs that do not depend on each other.
//
//   Example: a -> b -> c and a -> c, where b stays on the CPU. For the edge a -> c there is the detour over b, so a and
//   c stay apart. Without b -> c there is none: {a, c} is one group, and b runs after it.
//
// Time: at most a depth-first search for each edge and each pair of groups. An edge of a chain needs none: a unit that
// reads only from the other one has no detour. Units are kept in a union-find. The fewest groups without a cycle are a
// hard problem in general (acyclic partitioning), so the order of merging is a heuristic.
namespace carina::partition {

namespace {

// The graph with groups as nodes. Unit = a group, or a single node on the CPU; a unit's id is its smallest node.
class Units {
 public:
  Units(const ir::Graph& graph, const std::vector<bool>& eligible)
      : eligible_(eligible), units_(graph.nodes.size()), next_(graph.nodes.size()), previous_(graph.nodes.size()) {
    const auto producer = ir::producers(graph);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const ir::ValueId input : graph.nodes[n].inputs) {
        if (!input.valid() || !producer[input.index()].valid()) continue;
        const size_t from = producer[input.index()].index();
        next_[from].insert(n);
        previous_[n].insert(from);
        edges_.emplace_back(from, n);
      }
    }
  }

  // Merges groups along edges first, because adjacent nodes should be in one group. Then merges groups that do not
  // depend on each other.
  void merge_all() {
    for (const auto& [from, to] : edges_) {
      const size_t a = unit_of(from), b = unit_of(to);
      if (a != b && eligible_[a] && eligible_[b] && !detour(a, b)) merge(a, b);
    }
    std::vector<size_t> groups;
    for (size_t n = 0; n < eligible_.size(); ++n) {
      if (eligible_[n] && unit_of(n) == n) groups.push_back(n);
    }
    for (size_t i = 0; i < groups.size(); ++i) {
      for (size_t j = i + 1; j < groups.size(); ++j) {
        const size_t a = unit_of(groups[i]), b = unit_of(groups[j]);
        if (a != b && !detour(a, b) && !detour(b, a)) merge(a, b);
      }
    }
  }

  size_t unit_of(size_t node) { return units_.find(node); }

 private:
  void merge(size_t a, size_t b) {
    const size_t kept = std::min(a, b), gone = std::max(a, b);
    units_.join(a, b);
    next_[kept].insert(next_[gone].begin(), next_[gone].end());
    previous_[kept].insert(previous_[gone].begin(), previous_[gone].end());
  }

  // Returns whether `unit` reads only from `from` and itself, so that no other path exists.
  [[nodiscard]] bool reads_only(size_t unit, size_t from) {
    return std::ranges::all_of(previous_[unit],
                               [&](size_t node) { return unit_of(node) == from || unit_of(node) == unit; });
  }

  // Returns whether a path leads from one unit to another through a third.
  [[nodiscard]] bool detour(size_t from, size_t to) {
    if (reads_only(to, from)) return false;
    std::vector<size_t> stack;
    std::vector<bool> seen(eligible_.size(), false);
    const auto visit = [&](size_t unit) {
      for (const size_t node : next_[unit]) {
        const size_t target = unit_of(node);
        if (seen[target] || target == unit || (unit == from && target == to)) continue;
        seen[target] = true;
        stack.push_back(target);
      }
    };
    visit(from);
    while (!stack.empty()) {
      const size_t unit = stack.back();
      stack.pop_back();
      if (unit == to) return true;
      visit(unit);
    }
    return false;
  }

  const std::vector<bool>& eligible_;
  UnionFind units_;
  std::vector<std::set<size_t>> next_;      // per unit: the nodes that read from it
  std::vector<std::set<size_t>> previous_;  // per unit: the nodes that it reads from
  std::vector<std::pair<size_t, size_t>> edges_;
};

}  // namespace

std::vector<int> group_nodes(const ir::Graph& graph, const std::vector<bool>& eligible) {
  Units units(graph, eligible);
  units.merge_all();
  std::vector<int> group_of(graph.nodes.size(), kOnCpu);
  int next = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!eligible[n]) continue;
    const size_t unit = units.unit_of(n);
    group_of[n] = unit == n ? next++ : group_of[unit];
  }
  return group_of;
}

std::vector<std::vector<size_t>> ordered_groups(const ir::Graph& graph, const std::vector<int>& group_of) {
  // Unit numbers: the first node of the group or of itself.
  std::vector<size_t> unit(graph.nodes.size());
  std::vector<size_t> first_of_group;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (group_of[n] == kOnCpu) {
      unit[n] = n;
      continue;
    }
    const auto group = static_cast<size_t>(group_of[n]);
    if (first_of_group.size() <= group) first_of_group.resize(group + 1, graph.nodes.size());
    first_of_group[group] = std::min(first_of_group[group], n);
    unit[n] = first_of_group[group];
  }
  std::vector<std::vector<size_t>> members(graph.nodes.size());
  std::vector<std::set<size_t>> readers(graph.nodes.size());
  std::vector<size_t> waits(graph.nodes.size(), 0);
  const auto producer = ir::producers(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    members[unit[n]].push_back(n);
    for (const ir::ValueId input : graph.nodes[n].inputs) {
      if (!input.valid() || !producer[input.index()].valid()) continue;
      const size_t from = unit[producer[input.index()].index()];
      if (from != unit[n] && readers[from].insert(unit[n]).second) ++waits[unit[n]];
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!members[n].empty() && waits[n] == 0) ready.push(n);
  }
  std::vector<std::vector<size_t>> ordered;
  size_t count = 0;
  while (!ready.empty()) {
    const size_t next = ready.top();
    ready.pop();
    count += members[next].size();
    ordered.push_back(members[next]);
    for (const size_t reader : readers[next]) {
      if (--waits[reader] == 0) ready.push(reader);
    }
  }
  CARINA_CHECK(count == graph.nodes.size(), "cyclic dependency between the node groups of {}", graph.name);
  return ordered;
}

}  // namespace carina::partition
