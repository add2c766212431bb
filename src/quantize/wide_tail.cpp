#include <algorithm>
#include <optional>
#include <set>

#include "facts/aten_traits.h"
#include "quantize/sharing.h"
#include "quantize/wide_tail_internal.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

// What 16 bits cost, in cycles of an NPU that multiplies 256 pairs in a cycle: a layer that reads them multiplies half
// as many, memories move eight bytes in a cycle, and a table of a function comes from flash.
constexpr int64_t kPairsInCycle = 256, kBytesInCycle = 8, kCyclesOfTable = 2300, kCyclesOfNode = 32;
constexpr int64_t kShareOfCycles = 100, kShareOfMemory = 32;  // 1 / so many

class WideTail {
 public:
  WideTail(const ir::Graph& graph, const TailRequest& request)
      : graph_(graph),
        request_(request),
        producers_(ir::producers(graph)),
        users_(ir::users(graph)),
        is_wide_(graph.values.size(), false),
        members_(graph.values.size()) {
    for (size_t v = 0; v < graph.values.size(); ++v) members_[request.groups[v]].emplace_back(v);
    for (const size_t group : request.wide) is_wide_[group] = true;
    int64_t pairs = 0, weights = 0, largest = 0;
    for (const Node& node : graph.nodes) {
      pairs += multiplications_of(graph, node);
      weights += weights_of(graph, node);
      largest = std::max(largest, elements_of(node.inputs) + elements_of(node.outputs));
    }
    const bool waits_for_weights = !request.wide.empty();
    cycles_left_ = std::max(pairs / kPairsInCycle, waits_for_weights ? weights : 0) / kShareOfCycles;
    elements_left_ = waits_for_weights ? weights / kShareOfMemory : largest / kShareOfMemory;
  }

  std::vector<size_t> run() {
    begin();
    while (take_cheapest()) {
    }
    return {taken_.begin(), taken_.end()};
  }

 private:
  // Groups that get 16 bits together.
  struct Step {
    std::set<size_t> groups;
    int64_t cycles = 0;
    int64_t elements = 0;
  };

  void begin() {
    for (const ValueId output : graph_.outputs) {
      if (!output.valid()) continue;
      if (request_.narrow_outputs)
        open(producers_[output.index()]);
      else
        waiting_.push_back({group_of(output)});
    }
  }

  // Takes the step of least cycles among those that fit. A step that does not fit is dropped: it waits again if another
  // reader of its groups is opened.
  bool take_cheapest() {
    std::vector<Step> steps;
    for (const std::vector<size_t>& groups : waiting_) {
      std::optional<Step> step = step_of(groups);
      if (step && step->cycles <= cycles_left_ && step->elements <= elements_left_) steps.push_back(*std::move(step));
    }
    waiting_.clear();
    const auto best = std::ranges::min_element(steps, {}, &Step::cycles);
    if (best == steps.end()) return false;
    for (auto step = steps.begin(); step != steps.end(); ++step) {
      if (step != best) waiting_.emplace_back(step->groups.begin(), step->groups.end());
    }
    cycles_left_ -= best->cycles;
    elements_left_ -= best->elements;
    for (const size_t group : best->groups) is_wide_[group] = true;
    taken_.insert(best->groups.begin(), best->groups.end());
    for (const size_t group : best->groups) {
      for (const ValueId id : members_[group]) open(producers_[id.index()]);
    }
    return true;
  }

  // The operands of a node whose results have 16 bits may get them next.
  void open(NodeId id) {
    if (!id.valid() || !is_opened_.insert(id.index()).second) return;
    const std::vector<size_t> groups = narrow_operands(graph_[id]);
    if (!groups.empty()) waiting_.push_back(groups);
  }

  // The groups, and those that must have 16 bits with them: operands of nodes that do not widen. No value: some of them
  // must not have 16 bits.
  [[nodiscard]] std::optional<Step> step_of(const std::vector<size_t>& groups) const {
    Step step;
    std::vector<size_t> open = groups;
    while (!open.empty()) {
      const size_t group = open.back();
      open.pop_back();
      if (is_wide_[group] || !step.groups.insert(group).second) continue;
      if (!request_.is_free[group] || !add_group(group, step, open)) return std::nullopt;
    }
    return reads_are_wide(step) ? std::optional(step) : std::nullopt;
  }

  bool add_group(size_t group, Step& step, std::vector<size_t>& open) const {
    for (const ValueId id : members_[group]) {
      if (graph_[id].constant) continue;
      const NodeId producer = producers_[id.index()];
      if (!producer.valid()) return false;  // an input of the model
      if (!widens(graph_[producer])) {
        if (!reading_cycles(graph_[producer])) return false;
        std::ranges::copy(narrow_operands(graph_[producer]), std::back_inserter(open));
      }
      step.elements += graph_[id].shape.elements();
      step.cycles += graph_[id].shape.elements() / kBytesInCycle + kCyclesOfNode;
    }
    return true;
  }

  // Adds the cycles of the nodes that read the step's groups. False: one of them has no cheap form. A layer with
  // weights may write 8 bits, since it rescales its sums anyway.
  bool reads_are_wide(Step& step) const {
    std::set<size_t> readers;
    for (const size_t group : step.groups) {
      for (const ValueId id : members_[group]) {
        for (const NodeId user : users_[id.index()]) readers.insert(user.index());
      }
    }
    for (const size_t n : readers) {
      const Node& node = graph_.nodes[n];
      const std::optional<int64_t> cycles = reading_cycles(node);
      if (!cycles || !(weight_role_of(node) || writes_wide(node, step))) return false;
      step.cycles += *cycles;
    }
    return true;
  }

  [[nodiscard]] bool writes_wide(const Node& node, const Step& step) const {
    return std::ranges::all_of(node.outputs, [&](ValueId id) {
      return !id.valid() || is_wide_[group_of(id)] || step.groups.contains(group_of(id)) || is_narrow_output(id);
    });
  }

  [[nodiscard]] bool is_narrow_output(ValueId id) const {
    return request_.narrow_outputs && std::ranges::find(graph_.outputs, id) != graph_.outputs.end();
  }

  // Whether the node computes 16 bits of 8: a rescale of its sum does it.
  [[nodiscard]] bool widens(const Node& node) const {
    if (!node.op.is_aten()) return false;
    const AtenOp op = node.op.aten();
    return weight_role_of(node) || op == AtenOp::add_Tensor || op == AtenOp::sub_Tensor || op == AtenOp::mean_dim ||
           op == AtenOp::sum_dim_IntList ||
           (op == AtenOp::mul_Tensor && std::ranges::any_of(node.inputs, [&](ValueId id) {
              return id.valid() && graph_[id].constant.has_value();
            }));
  }

  // What it costs more if the node reads 16 bits. No value: it must not.
  [[nodiscard]] std::optional<int64_t> reading_cycles(const Node& node) const {
    if (!node.op.is_aten()) return std::nullopt;
    const AtenTraits& traits = traits_of(node.op.aten());
    const int64_t moved = elements_of(node.outputs) / kBytesInCycle + kCyclesOfNode;
    if (weight_role_of(node))
      return request_.weights_allow ? std::optional(multiplications_of(graph_, node) / kPairsInCycle + kCyclesOfNode)
                                    : std::nullopt;
    switch (traits.family) {
      case AtenFamily::kFunction:
        return moved + kCyclesOfTable;
      case AtenFamily::kLimit:
      case AtenFamily::kMovement:
        return moved;
      case AtenFamily::kArithmetic: {
        const AtenOp op = node.op.aten();
        const bool is_simple = op == AtenOp::add_Tensor || op == AtenOp::sub_Tensor || op == AtenOp::mul_Tensor ||
                               op == AtenOp::maximum_default || op == AtenOp::minimum_default;
        return is_simple ? std::optional(2 * moved) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  // The groups of the node's operands that are computed and have 8 bits.
  [[nodiscard]] std::vector<size_t> narrow_operands(const Node& node) const {
    std::vector<size_t> groups;
    for (const ValueId id : node.inputs) {
      if (id.valid() && !graph_[id].constant && !is_wide_[group_of(id)]) groups.push_back(group_of(id));
    }
    return groups;
  }

  [[nodiscard]] int64_t elements_of(const std::vector<ValueId>& ids) const {
    int64_t elements = 0;
    for (const ValueId id : ids) {
      if (id.valid() && !graph_[id].constant) elements += graph_[id].shape.elements();
    }
    return elements;
  }

  [[nodiscard]] size_t group_of(ValueId id) const { return request_.groups[id.index()]; }

  const ir::Graph& graph_;
  const TailRequest& request_;
  const std::vector<NodeId> producers_;
  const std::vector<std::vector<NodeId>> users_;
  int64_t cycles_left_ = 0;
  int64_t elements_left_ = 0;
  std::vector<bool> is_wide_;                  // per group
  std::vector<std::vector<ValueId>> members_;  // per group
  std::vector<std::vector<size_t>> waiting_;   // operands of nodes whose results have 16 bits
  std::set<size_t> is_opened_;                 // nodes
  std::set<size_t> taken_;
};

}  // namespace

// Each result of a layer, or each of its operands if it is transposed, has the multiplications of one filter.
int64_t multiplications_of(const ir::Graph& graph, const Node& node) {
  const std::optional<WeightRole> role = node.op.is_aten() ? weight_role_of(node) : std::nullopt;
  if (!role || role->weight >= node.inputs.size()) return 0;
  const Shape& weights = graph[node.inputs[role->weight]].shape;
  const ValueId counted = role->axis == 0 ? node.outputs.front() : node.inputs.front();
  const int64_t filters = weights.rank() == 0 ? 0 : weights.dims()[0];
  return filters == 0 ? 0 : graph[counted].shape.elements() * (weights.elements() / filters);
}

int64_t weights_of(const ir::Graph& graph, const Node& node) {
  const std::optional<WeightRole> role = node.op.is_aten() ? weight_role_of(node) : std::nullopt;
  return role && role->weight < node.inputs.size() ? graph[node.inputs[role->weight]].shape.elements() : 0;
}

std::vector<size_t> wide_tail(const ir::Graph& graph, const TailRequest& request) {
  return WideTail(graph, request).run();
}

}  // namespace carina::quantize
