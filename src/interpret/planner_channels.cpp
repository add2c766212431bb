// A depthwise convolution of one tap scales each channel, on whatever axis that is. If its operand is transposed for
// it and its result is transposed back, it runs on the elements as they are.
//   Example: TRANSPOSE [0,2,3,1], DEPTHWISE_CONV2D 1x1, RESCALE, TRANSPOSE [0,3,1,2] of i8[1,64,56,56], as in a group
//   norm: 64 rows of 3,136 elements, each with a factor and an addend.

#include <algorithm>
#include <functional>
#include <numeric>

#include "interpret/ops/conv_internal.h"
#include "interpret/planner_internal.h"
#include "ir/tosa_node.h"

namespace carina::interpret {

namespace {

bool is_transpose(const ir::Node& node) {
  return node.op.is_tosa() && node.op.tosa() == TosaOp::TRANSPOSE && ir::check_row(node, {});
}

// Returns whether `after` restores the axes that `before` has changed. Neither is a permutation for certain yet.
bool restores(const std::vector<int64_t>& before, const std::vector<int64_t>& after) {
  if (before.size() != after.size()) return false;
  for (size_t i = 0; i < after.size(); ++i) {
    const auto at = static_cast<size_t>(after[i]);
    if (at >= before.size() || before[at] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

// Returns the user of a value that nothing else needs.
std::optional<size_t> Planner::only_user_of(ir::ValueId value) const {
  if (is_seen_[value.index()] || users_[value.index()].size() != 1) return std::nullopt;
  return users_[value.index()].front().index();
}

std::optional<Planner::Fused> Planner::fuse_channels_of(size_t node_index) const {
  const ir::Node& node = graph_.nodes[node_index];
  const ir::NodeId before = producers_[node.inputs.front().index()];
  if (!before.valid() || !is_transpose(graph_[before]) || only_user_of(node.inputs.front()) != node_index)
    return std::nullopt;
  const std::vector<size_t> tail = tail_of(node_index);
  const auto after = only_user_of(graph_.nodes[tail.empty() ? node_index : tail.back()].outputs.front());
  if (!after || !is_transpose(graph_.nodes[*after])) return std::nullopt;
  const auto& axes = graph_[before].attributes.integers("perms");
  if (!restores(axes, graph_.nodes[*after].attributes.integers("perms"))) return std::nullopt;
  TailPlan plan{.node = node_plan(node)};
  for (const size_t next : tail) plan.tail.push_back(node_plan(graph_.nodes[next]));
  const ir::ValueId source = graph_[before].inputs.front();
  const std::span<const int64_t> sizes = graph_[source].shape.dims();
  const auto channels = static_cast<size_t>(axes.back());
  const auto product = [](std::span<const int64_t> list) {
    return std::accumulate(list.begin(), list.end(), int64_t{1}, std::multiplies<>());
  };
  auto kernel =
      scaled_channels(plan, {.outer = product(sizes.first(channels)), .inner = product(sizes.subspan(channels + 1))});
  if (!kernel) return std::nullopt;
  Fused fused{.kernel = *std::move(kernel),
              .reads = node.inputs,
              .writes = graph_.nodes[*after].outputs,
              .others = {before, ir::NodeId(*after)}};
  fused.reads.front() = source;
  for (const size_t next : tail) fused.others.emplace_back(next);
  std::ranges::sort(fused.others);
  return fused;
}

void Planner::fuse_channels() {
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const ir::Node& node = graph_.nodes[n];
    if (!node.op.is_tosa() || node.op.tosa() != TosaOp::DEPTHWISE_CONV2D || !ir::check_row(node, {})) continue;
    auto fused = fuse_channels_of(n);
    if (!fused) continue;
    for (const ir::NodeId other : fused->others) done_[other.index()] = true;
    fused_.emplace(n, *std::move(fused));
  }
}

}  // namespace carina::interpret
