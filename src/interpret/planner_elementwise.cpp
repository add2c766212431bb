// Fuses fp32 elementwise operators that follow each other, such as those of a GELU or a layer norm, into one kernel.
// Their intermediate values are not stored.

#include <algorithm>
#include <map>
#include <set>

#include "interpret/ops/elementwise_f32_internal.h"
#include "interpret/ops/op_table_internal.h"
#include "interpret/planner_internal.h"
#include "ir/tosa_node.h"

namespace carina::interpret {

namespace {

// Returns the operands that are elements. MUL has a shift after them.
std::span<const ir::ValueId> elements_of(const ir::Node& node, const ElementwiseF32::Step& step) {
  return std::span(node.inputs).first(std::holds_alternative<kernels::Combine>(step.op) ? 2 : 1);
}

}  // namespace

// A node that cannot run alone is left to make_step(), which reports the reason.
bool Planner::is_elementwise(size_t node_index) const {
  const ir::Node& node = graph_.nodes[node_index];
  if (done_[node_index] || fused_.contains(node_index) || !elementwise_f32_step(node, graph_)) return false;
  return ir::check_row(node, {}) && kernel_row_of(node.op.tosa())->prepare(node_plan(node));
}

// Returns the elementwise nodes whose results only this node needs, and this node, in order. Empty if this node is not
// elementwise. Users come after the nodes that they use, so in backward order all users of a node are known when it is
// visited.
std::vector<size_t> Planner::chain_of(size_t node_index) const {
  std::set<size_t> chain, candidates{node_index};
  while (!candidates.empty() && chain.size() + 1 < ElementwiseF32::kMaxOperands) {
    const size_t next = *candidates.rbegin();
    candidates.erase(next);
    if (!is_elementwise(next)) continue;
    const ir::Node& node = graph_.nodes[next];
    const ir::ValueId value = node.outputs.front();
    const bool is_inside =
        !is_seen_[value.index()] && graph_[value].shape == graph_[graph_.nodes[node_index].outputs.front()].shape &&
        std::ranges::all_of(users_[value.index()], [&](ir::NodeId user) { return chain.contains(user.index()); });
    if (next != node_index && !is_inside) continue;
    chain.insert(next);
    for (const ir::ValueId input : elements_of(node, *elementwise_f32_step(node, graph_))) {
      if (producers_[input.index()].valid()) candidates.insert(producers_[input.index()].index());
    }
  }
  return {chain.begin(), chain.end()};
}

void Planner::fuse_chain(const std::vector<size_t>& nodes) {
  const ir::Node& last = graph_.nodes[nodes.back()];
  ElementwiseF32 chain{.shape = graph_[last.outputs.front()].shape, .operands = {}, .steps = {}};
  Fused fused{.kernel = {}, .reads = {}, .writes = last.outputs, .others = {}, .in_place = true};
  std::map<size_t, ElementwiseF32::Source> sources;  // by value
  for (const size_t n : nodes) {
    const ir::Node& node = graph_.nodes[n];
    ElementwiseF32::Step step = *elementwise_f32_step(node, graph_);
    const auto elements = elements_of(node, step);
    for (const ir::ValueId value : elements) {
      if (!sources.try_emplace(value.index(), ElementwiseF32::Source{.is_step = false, .index = fused.reads.size()})
               .second)
        continue;
      fused.reads.push_back(value);
      chain.operands.push_back(&graph_[value].shape);
    }
    step.a = sources.at(elements.front().index());
    step.b = sources.at(elements.back().index());
    sources[node.outputs.front().index()] = {.is_step = true, .index = chain.steps.size()};
    chain.steps.push_back(step);
    if (n == nodes.back()) continue;
    done_[n] = true;
    fused.others.emplace_back(n);
  }
  fused.kernel = elementwise_f32_kernel(chain, options_.threads);
  fused_.emplace(nodes.back(), std::move(fused));
}

void Planner::fuse_elementwise() {
  for (size_t n = graph_.nodes.size(); n-- > 0;) {
    if (const std::vector<size_t> chain = chain_of(n); !chain.empty()) fuse_chain(chain);
  }
}

void Planner::reuse_operands() {
  const auto is_free = [&](size_t r) { return program_->allocations_[r].kind == Allocation::Kind::kNowhere; };
  for (const size_t s : in_place_) {
    const Program::Step& step = program_->steps_[s];
    const ir::ValueId result = step.writes.front();
    const size_t to = root(result.index());
    if (!is_free(to)) continue;
    const auto operand = std::ranges::find_if(step.reads, [&](ir::ValueId value) {
      const size_t from = root(value.index());
      return graph_[value].shape == graph_[result].shape && is_free(from) && last_use_[from] == s;
    });
    if (operand == step.reads.end()) continue;
    const size_t from = root(operand->index());
    roots_[to] = from;
    last_use_[from] = last_use_[to];
  }
}

}  // namespace carina::interpret
