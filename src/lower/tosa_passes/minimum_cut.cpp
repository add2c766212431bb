// Maximum flow by shortest augmenting paths. Source: J. Edmonds, R. M. Karp, "Theoretical improvements in algorithmic
// efficiency for network flow problems", 1972. A minimum cut has the variables that the source reaches on one side.

#include "lower/tosa_passes/minimum_cut_internal.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace carina::lower {

void MinimumCut::cost_if(size_t yes, size_t no, int64_t cost) {
  if (cost <= 0 || yes == no) return;
  edges_of_[yes].push_back(edges_.size());
  edges_.push_back({.to = no, .left = cost});
  edges_of_[no].push_back(edges_.size());
  edges_.push_back({.to = yes, .left = 0});
}

// Sends as much flow as possible along one shortest path.
bool MinimumCut::augment() {
  std::vector<std::optional<size_t>> edge_to(edges_of_.size());
  std::vector<size_t> queue{kAlwaysYes};
  for (size_t next = 0; next < queue.size() && !edge_to[kAlwaysNo]; ++next) {
    for (const size_t e : edges_of_[queue[next]]) {
      const size_t to = edges_[e].to;
      if (edges_[e].left == 0 || edge_to[to] || to == kAlwaysYes) continue;
      edge_to[to] = e;
      queue.push_back(to);
    }
  }
  if (!edge_to[kAlwaysNo]) return false;
  int64_t flow = std::numeric_limits<int64_t>::max();
  const auto for_each_edge = [&](auto act) {
    for (size_t at = kAlwaysNo; at != kAlwaysYes; at = edges_[*edge_to[at] ^ 1].to) act(*edge_to[at]);
  };
  for_each_edge([&](size_t e) { flow = std::min(flow, edges_[e].left); });
  for_each_edge([&](size_t e) {
    edges_[e].left -= flow;
    edges_[e ^ 1].left += flow;
  });
  return true;
}

std::vector<bool> MinimumCut::solve() {
  while (augment()) {
  }
  std::vector<bool> is_yes(edges_of_.size(), false);
  is_yes[kAlwaysYes] = true;
  std::vector<size_t> queue{kAlwaysYes};
  for (size_t next = 0; next < queue.size(); ++next) {
    for (const size_t e : edges_of_[queue[next]]) {
      if (edges_[e].left == 0 || is_yes[edges_[e].to]) continue;
      is_yes[edges_[e].to] = true;
      queue.push_back(edges_[e].to);
    }
  }
  return is_yes;
}

}  // namespace carina::lower
