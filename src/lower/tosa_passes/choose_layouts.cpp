// What:   the result of each node is stored in the order of axes with which the fewest transpositions are left.
// Before: %a = TRANSPOSE(%x [2,8,1,64]) {[0,2,3,1]}; %b = RESHAPE(%a) [2,64,8]; %c = TRANSPOSE(%b) {[0,2,1]}
//         %d = ABS(%c); %e = TRANSPOSE(%d) {[0,2,1]}; output %e
// After:  %a = TRANSPOSE(%x [2,8,1,64]) {[0,2,3,1]}; %b = RESHAPE(%a) [2,64,8]; %e = ABS(%b); output %e
// Needs:  constant shape operands.
// Gives:  no more transpositions than before; graph outputs keep their axes.
// Legal:  f(transpose(x)) = transpose(f(x)) for the operators of layouts.cpp, with their axes renamed.
//
// A value costs one transposition for each layout, other than its own, in which a node reads it. The search starts with
// the layouts of the shapes, in which each TRANSPOSE is such a cost. It takes one transposition, and gives the nodes on
// one side of it the layout of the other side. All nodes that are connected with them get the layout that follows.
// Which of them really change is a minimum cut (alpha expansion: Y. Boykov, O. Veksler, R. Zabih, "Fast approximate
// energy minimization via graph cuts", 2001).
//
// Tried: sinking and raising transpositions in turns. Each step is local, and a step that pays only together with
// another one is not found; 22 of 48 float networks of the Arm backend's tests kept more than its own graphs have.
// Targets that are NPUs use sink-transposes: their planner measures transpositions in cycles, not in numbers.

#include <algorithm>
#include <map>
#include <set>

#include "lower/tosa_passes/layouts_internal.h"
#include "lower/tosa_passes/minimum_cut_internal.h"
#include "lower/tosa_passes/passes.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

// One transposition is more than any number of elements, and one element more than a reshape.
constexpr int64_t kTransposition = int64_t{1} << 40;
constexpr int64_t kByte = int64_t{1} << 4;
constexpr int64_t kReshape = 1;
constexpr int64_t kImpossible = int64_t{1} << 52;  // int48: TOSA neither transposes nor reshapes it
constexpr int kMaxRounds = 8;

// A node's layout, and those in which it reads its operands.
struct Choice {
  Layout result;
  std::vector<Layout> operands;
};

struct Use {
  size_t node;
  size_t operand;
};

class Search {
 public:
  explicit Search(const ir::Graph& graph) : graph_(graph), producer_(ir::producers(graph)) {
    uses_.resize(graph.values.size());
    const std::vector<bool> is_output = ir::is_output(graph);
    is_output_ = is_output;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      rules_.push_back(layouts_of(graph, node));
      chosen_.push_back(natural(n));
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i].valid() && !graph[node.inputs[i]].constant) uses_[node.inputs[i].index()].push_back({n, i});
      }
    }
  }

  std::vector<Layout> run() {
    bool changes = true;
    for (int round = 0; changes && round < kMaxRounds; ++round) {
      changes = false;
      for (size_t v = 0; v < graph_.values.size(); ++v) {
        for (size_t u = 0; u < uses_[v].size(); ++u) changes = improve(ValueId(v), uses_[v][u]) || changes;
        if (is_output_[v]) changes = improve(ValueId(v), {}) || changes;
      }
    }
    std::vector<Layout> result;
    for (const Choice& choice : chosen_) result.push_back(choice.result);
    return result;
  }

 private:
  using Alternative = std::map<size_t, Choice>;  // other layouts by node
  static constexpr size_t kNone = static_cast<size_t>(-1);

  [[nodiscard]] Layout identity(ValueId value) const { return identity_layout(graph_[value].shape); }

  [[nodiscard]] Choice natural(size_t n) const {
    const Node& node = graph_.nodes[n];
    Choice choice;
    if (node.outputs.size() == 1) choice.result = identity(node.outputs[0]);
    if (rules_[n].data_operands > 0) choice.operands = *operand_layouts(graph_, node, rules_[n], choice.result);
    return choice;
  }

  [[nodiscard]] size_t producer(ValueId value) const {
    const NodeId id = producer_[value.index()];
    return id.valid() ? id.index() : kNone;
  }

  [[nodiscard]] const Choice& choice(size_t n, const Alternative* other) const {
    if (other != nullptr) {
      if (const auto found = other->find(n); found != other->end()) return found->second;
    }
    return chosen_[n];
  }

  // The layout that a value has.
  [[nodiscard]] Layout made(ValueId value, const Alternative* other) const {
    const size_t n = producer(value);
    return n == kNone || graph_.nodes[n].outputs.size() != 1 ? identity(value) : choice(n, other).result;
  }

  // The layout in which a node reads its operand. `node` is nothing for an output of the graph.
  [[nodiscard]] Layout read(ValueId value, const Use& use, bool is_output, const Alternative* other) const {
    if (is_output || use.operand >= rules_[use.node].data_operands) return identity(value);
    return choice(use.node, other).operands[use.operand];
  }

  [[nodiscard]] int64_t weight(ValueId value) const {
    const ir::Value& v = graph_[value];
    return kTransposition + kByte * v.shape.elements() * static_cast<int64_t>(element_bytes(v.dtype));
  }

  [[nodiscard]] bool is_free(ValueId value, const Layout& from, const Layout& to) const {
    return element_order(graph_[value].shape, from) == element_order(graph_[value].shape, to);
  }

  [[nodiscard]] int64_t cost_of(ValueId value, const Alternative* other) const {
    const Layout own = made(value, other);
    std::set<Layout> needed, orders;
    for (const Use& use : uses_[value.index()]) needed.insert(read(value, use, false, other));
    if (is_output_[value.index()]) needed.insert(identity(value));
    needed.erase(own);
    for (const Layout& layout : needed) {
      if (!is_free(value, own, layout)) orders.insert(element_order(graph_[value].shape, layout));
    }
    const int64_t reshape = graph_[value].dtype == DType::kInt48 ? kImpossible : kReshape;
    return static_cast<int64_t>(orders.size()) * weight(value) + static_cast<int64_t>(needed.size()) * reshape;
  }

  // Tries to remove the transposition of a value for a use, or for an output of the graph.
  bool improve(ValueId value, std::optional<Use> use) {
    const Layout own = made(value, nullptr);
    const Layout wanted = use ? read(value, *use, false, nullptr) : identity(value);
    if (is_free(value, own, wanted)) return false;
    if (const size_t n = producer(value); n != kNone && expand(n, wanted)) return true;
    if (!use) return false;
    const auto result = result_layout(graph_, graph_.nodes[use->node], rules_[use->node], use->operand, own);
    return result && expand(use->node, *result);
  }

  // Gives a node another layout, and all connected nodes the layouts that follow.
  bool expand(size_t start, const Layout& layout) {
    Alternative other;
    std::vector<size_t> queue;
    propose(start, layout, other, queue);
    for (size_t next = 0; next < queue.size(); ++next) spread(queue[next], other, queue);
    if (other.empty()) return false;
    cut(other);
    const std::set<ValueId> touched = touched_by(other);
    int64_t difference = 0;
    for (const ValueId value : touched) difference += cost_of(value, &other) - cost_of(value, nullptr);
    if (difference >= 0) return false;
    for (auto& [n, choice] : other) chosen_[n] = std::move(choice);
    return true;
  }

  void propose(size_t n, const Layout& layout, Alternative& other, std::vector<size_t>& queue) const {
    if (chosen_[n].result == layout || other.contains(n)) return;
    auto operands = operand_layouts(graph_, graph_.nodes[n], rules_[n], layout);
    if (!operands) return;
    other[n] = {.result = layout, .operands = *std::move(operands)};
    queue.push_back(n);
  }

  void spread(size_t n, Alternative& other, std::vector<size_t>& queue) const {
    const Node& node = graph_.nodes[n];
    const Choice given = other.at(n);
    for (size_t i = 0; i < rules_[n].data_operands; ++i) {
      const size_t above = producer(node.inputs[i]);
      if (above != kNone) propose(above, given.operands[i], other, queue);
    }
    for (const Use& use : uses_[node.outputs[0].index()]) {
      const auto result = result_layout(graph_, graph_.nodes[use.node], rules_[use.node], use.operand, given.result);
      if (result) propose(use.node, *result, other, queue);
    }
  }

  [[nodiscard]] std::set<ValueId> touched_by(const Alternative& other) const {
    std::set<ValueId> touched;
    for (const auto& [n, choice] : other) {
      touched.insert(graph_.nodes[n].outputs[0]);
      for (const ValueId input : graph_.nodes[n].inputs) {
        if (input.valid() && !graph_[input].constant) touched.insert(input);
      }
    }
    return touched;
  }

  // Keeps the alternatives with the lowest cost.
  void cut(Alternative& other) const {
    MinimumCut problem;
    std::map<size_t, size_t> variable;
    for (const auto& [n, choice] : other) variable[n] = problem.add_variable();
    const auto variable_of = [&](size_t n) {
      const auto found = variable.find(n);
      return found == variable.end() ? MinimumCut::kAlwaysNo : found->second;
    };
    for (const ValueId value : touched_by(other)) add_costs(value, other, variable_of, problem);
    const std::vector<bool> is_yes = problem.solve();
    std::erase_if(other, [&](const auto& entry) { return !is_yes[variable.at(entry.first)]; });
  }

  // Costs of a value. Uses that need the same layouts share a transposition.
  template <typename VariableOf>
  void add_costs(ValueId value, const Alternative& other, const VariableOf& variable_of, MinimumCut& problem) const {
    const size_t from = producer(value);
    const size_t own = from == kNone ? MinimumCut::kAlwaysNo : variable_of(from);
    const std::pair made_in{made(value, nullptr), made(value, &other)};
    std::map<std::pair<Layout, Layout>, std::vector<size_t>> readers;
    for (const Use& use : uses_[value.index()])
      readers[{read(value, use, false, nullptr), read(value, use, false, &other)}].push_back(variable_of(use.node));
    if (is_output_[value.index()]) readers[{identity(value), identity(value)}].push_back(MinimumCut::kAlwaysNo);
    for (const auto& [layouts, variables] : readers) {
      const auto cost = [&](const Layout& have, const Layout& need) {
        return is_free(value, have, need) ? (have == need ? 0 : kReshape) : weight(value);
      };
      const Costs costs{.no_no = cost(made_in.first, layouts.first),
                        .no_yes = cost(made_in.first, layouts.second),
                        .yes_no = cost(made_in.second, layouts.first),
                        .yes_yes = cost(made_in.second, layouts.second)};
      add_shared(own, variables, costs, problem);
    }
  }

  // The cost of an edge, by whether its producer and its reader take the new layout: "no_yes" is producer no, reader
  // yes.
  struct Costs {
    int64_t no_no, no_yes, yes_no, yes_yes;
  };

  static void add_shared(size_t own, const std::vector<size_t>& readers, const Costs& costs, MinimumCut& problem) {
    if (readers.size() == 1 || costs.no_no != 0 || costs.yes_yes != 0) {
      for (const size_t reader : readers) add_pair(own, reader, costs, problem);
      return;
    }
    // `any` is yes if a reader is, and `all` is no if a reader is not.
    const size_t any = problem.add_variable(), all = problem.add_variable();
    constexpr int64_t kAlways = int64_t{1} << 60;
    for (const size_t reader : readers) {
      problem.cost_if(reader, any, kAlways);
      problem.cost_if(all, reader, kAlways);
    }
    problem.cost_if(any, own, costs.no_yes);
    problem.cost_if(own, all, costs.yes_no);
  }

  // no_no + (yes_no - no_no) own + (yes_yes - yes_no) reader + rest (not own) reader
  static void add_pair(size_t own, size_t reader, const Costs& costs, MinimumCut& problem) {
    add_single(own, costs.yes_no - costs.no_no, problem);
    add_single(reader, costs.yes_yes - costs.yes_no, problem);
    problem.cost_if(reader, own, costs.no_yes + costs.yes_no - costs.no_no - costs.yes_yes);
  }

  static void add_single(size_t variable, int64_t cost, MinimumCut& problem) {
    if (variable == MinimumCut::kAlwaysNo) return;
    if (cost > 0) problem.cost_if(variable, MinimumCut::kAlwaysNo, cost);
    if (cost < 0) problem.cost_if(MinimumCut::kAlwaysYes, variable, -cost);
  }

  const ir::Graph& graph_;
  std::vector<NodeId> producer_;
  std::vector<bool> is_output_;
  std::vector<std::vector<Use>> uses_;  // of each value that is not a constant
  std::vector<NodeLayouts> rules_;
  std::vector<Choice> chosen_;
};

}  // namespace

Result<void> choose_layouts(ir::Graph& graph, const Log&) {
  apply_layouts(graph, Search(graph).run());
  return {};
}

}  // namespace carina::lower
