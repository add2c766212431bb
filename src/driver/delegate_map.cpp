#include "driver/delegate_map.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "driver/delegation.h"
#include "facts/aten_quantization.h"
#include "frontend/pt2/reader.h"
#include "models/import.h"
#include "models/quantize.h"

namespace carina::driver {

namespace {

using partition::Decision;

constexpr int kCpu = -1;

// Per node of the user's graph the decisions about what it became.
using PartsOfNodes = std::vector<std::vector<const Decision*>>;

PartsOfNodes parts_of(const models::Model& model, const std::vector<Decision>& decisions) {
  PartsOfNodes parts(model.nodes.size());
  for (const Decision& decision : decisions) {
    const ir::NodeId origin = model.graph[decision.node].origin;
    if (origin.valid() && origin.index() < parts.size()) parts[origin.index()].push_back(&decision);
  }
  return parts;
}

bool lies_in_one_delegate(const std::vector<const Decision*>& parts) {
  return std::ranges::all_of(parts, [&](const Decision* part) { return part->delegate == parts.front()->delegate; });
}

using Assignments = std::vector<std::optional<int>>;  // per node of the user's model; none: it came to nothing
using Kept = std::map<size_t, ir::Refusal>;           // nodes of the user's model that must stay on the CPU, and why

ir::Refusal not_whole() {
  return {.node = {},
          .rule = "whole node",
          .reason = "it could not be cut out of the graph as a whole",
          .hint = "export it as operators of its own: run_decompositions()"};
}

// Delegates have integers of 32 bits; who cuts a graph converts nothing at their boundaries.
ir::Refusal wide_boundary(const ir::Value& value) {
  return {.node = {},
          .rule = "types.boundary",
          .reason = value.name + " is i64 where a delegate would begin or end, delegates take and give 32 bits",
          .hint = "convert it to int32 in the model"};
}

// The user's graph as it was read, and where its nodes go.
class Coloring {
 public:
  Coloring(const ir::Graph& graph, Assignments of_node, const Kept& kept)
      : graph_(graph),
        kept_(kept),
        producers_(ir::producers(graph)),
        users_(ir::users(graph)),
        is_output_(ir::is_output(graph)),
        decided_(std::move(of_node)),
        assignments_(decided_) {}

  // Gives nodes that came to nothing to their neighbors: what lies within a delegate first, then a quantize node to
  // what makes its operand, a dequantize node to what reads its result.
  void run() {
    assign_within();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_open(n) && step_of(n) != QuantizationStep::kDequantize) assignment(n) = of_makers(n);
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (is_open(n) && step_of(n) != QuantizationStep::kQuantize) assignment(n) = of_readers(n);
    }
  }

  [[nodiscard]] const Assignments& assignments() const { return assignments_; }

  // Nodes of the user's model in delegates that give 64-bit integers away, or take them.
  void keep_wide_boundaries(Kept& kept) const {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const ir::Value& value = graph_.values[v];
      if (value.dtype != DType::kInt64 || value.constant) continue;
      const ir::NodeId maker = producers_[v];
      const int made = delegate_or_cpu(maker);
      bool leaves = is_output_[v];
      for (const ir::NodeId reader : users_[v]) {
        const int read = delegate_or_cpu(reader);
        leaves |= read != made;
        if (read != made && read != kCpu) kept.emplace(graph_[reader].origin.index(), wide_boundary(value));
      }
      if (leaves && made != kCpu) kept.emplace(graph_[maker].origin.index(), wide_boundary(value));
    }
  }

  // Nodes of the user's model that read, by way of nodes outside, what their own delegate makes: it would wait for itself.
  [[nodiscard]] std::set<size_t> waiting() const {
    std::set<int> delegates;
    for (const std::optional<int>& assignment : assignments_) {
      if (assignment && *assignment != kCpu) delegates.insert(*assignment);
    }
    std::set<size_t> found;
    for (const int delegate : delegates) add_waiting(delegate, found);
    return found;
  }

 private:
  std::optional<int>& assignment(size_t node) { return assignments_[graph_.nodes[node].origin.index()]; }
  [[nodiscard]] std::optional<int> assignment(size_t node) const {
    return assignments_[graph_.nodes[node].origin.index()];
  }
  [[nodiscard]] bool is_open(size_t node) const {
    const ir::NodeId origin = graph_.nodes[node].origin;
    return origin.valid() && !assignment(node) && !kept_.contains(origin.index());
  }
  [[nodiscard]] int delegate_or_cpu(ir::NodeId node) const {
    return node.valid() && graph_[node].origin.valid() ? assignment(node.index()).value_or(kCpu) : kCpu;
  }
  [[nodiscard]] std::optional<QuantizationStep> step_of(size_t node) const {
    return quantization_step_of(graph_.nodes[node].op.aten());
  }

  // Open nodes all of whose makers, and all of whose readers, are in one delegate or are such nodes themselves.
  void assign_within() {
    Assignments from(graph_.nodes.size()), to(graph_.nodes.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_open(n)) from[n] = of_makers(n, &from);
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (is_open(n)) to[n] = of_readers(n, &to);
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_open(n) && from[n] && from[n] == to[n]) assignment(n) = from[n];
    }
  }

  // The delegate that makes all of its operands but constants; none where there is no such. `open`: what stands for the
  // assignments of open nodes.
  [[nodiscard]] std::optional<int> of_makers(size_t node, const Assignments* open = nullptr) const {
    std::optional<int> found;
    for (const ir::ValueId operand : graph_.nodes[node].inputs) {
      if (!operand.valid() || graph_[operand].constant) continue;
      const ir::NodeId maker = producers_[operand.index()];
      if (!maker.valid() || !agrees(found, maker, open)) return std::nullopt;
    }
    return found;
  }

  // The delegate that reads all of its results.
  [[nodiscard]] std::optional<int> of_readers(size_t node, const Assignments* open = nullptr) const {
    std::optional<int> found;
    for (const ir::ValueId result : graph_.nodes[node].outputs) {
      if (!result.valid()) continue;
      if (is_output_[result.index()]) return std::nullopt;
      for (const ir::NodeId reader : users_[result.index()]) {
        if (!agrees(found, reader, open)) return std::nullopt;
      }
    }
    return found;
  }

  // Whether a neighbor lies in a delegate, and in that of the neighbors so far.
  bool agrees(std::optional<int>& found, ir::NodeId neighbor, const Assignments* open) const {
    if (!graph_[neighbor].origin.valid()) return false;
    const bool stands_in = open != nullptr && is_open(neighbor.index());
    const std::optional<int> its = stands_in ? (*open)[neighbor.index()] : assignment(neighbor.index());
    if (!its || *its == kCpu || (found && *found != *its)) return false;
    found = its;
    return true;
  }

  void add_waiting(int delegate, std::set<size_t>& found) const {
    std::vector<bool> behind(graph_.nodes.size(), false);  // outside, and it needs what the delegate makes
    std::vector<bool> waits(graph_.nodes.size(), false);   // inside, and it needs such a node
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const ir::NodeId origin = graph_.nodes[n].origin;
      const bool inside = origin.valid() && assignment(n) == delegate;
      for (const ir::ValueId operand : graph_.nodes[n].inputs) {
        const ir::NodeId maker = operand.valid() ? producers_[operand.index()] : ir::NodeId();
        if (!maker.valid()) continue;
        const bool made_inside = graph_[maker].origin.valid() && assignment(maker.index()) == delegate;
        if (inside) {
          waits[n] =
              waits[n] || behind[maker.index()] || (waits[maker.index()] && !decided_[graph_[maker].origin.index()]);
        } else {
          behind[n] = behind[n] || made_inside || behind[maker.index()];
        }
      }
      if (waits[n] && decided_[origin.index()]) found.insert(origin.index());
    }
  }

  const ir::Graph& graph_;
  const Kept& kept_;
  std::vector<ir::NodeId> producers_;
  std::vector<std::vector<ir::NodeId>> users_;
  std::vector<bool> is_output_;
  Assignments decided_;
  Assignments assignments_;
};

Assignments assignments_of(const PartsOfNodes& parts) {
  Assignments assignments(parts.size());
  for (size_t n = 0; n < parts.size(); ++n) {
    if (!parts[n].empty()) assignments[n] = parts[n].front()->runs_on_npu ? parts[n].front()->delegate : kCpu;
  }
  return assignments;
}

// What the user wants, and these nodes of the user's model on the CPU too.
SplitOptions keeping(const SplitOptions& split, const Kept& kept) {
  SplitOptions choices = split;
  choices.keep = [&split, &kept](const ir::Node& node) -> std::optional<ir::Refusal> {
    if (split.keep) {
      if (auto constraint = split.keep(node)) return constraint;
    }
    const auto found = node.origin.valid() ? kept.find(node.origin.index()) : kept.end();
    return found == kept.end() ? std::nullopt : std::optional(found->second);
  };
  return choices;
}

NodeAssignment described(const pt2::ModelNode& node, std::optional<int> assignment,
                         const std::vector<const Decision*>& parts) {
  NodeAssignment described{.name = node.name,
                           .op = node.op,
                           .source = node.source,
                           .delegate = assignment.value_or(kCpu),
                           .reason = {},
                           .hint = {}};
  if (described.delegate == kCpu && !parts.empty()) {
    described.reason = parts.front()->reason;
    described.hint = parts.front()->hint;
  }
  return described;
}

std::vector<NodeAssignment> described_all(const models::Model& model, const Assignments& assignments,
                                          const PartsOfNodes& parts) {
  std::vector<NodeAssignment> nodes;
  for (size_t n = 0; n < model.nodes.size(); ++n) nodes.push_back(described(model.nodes[n], assignments[n], parts[n]));
  return nodes;
}

}  // namespace

Result<std::vector<NodeAssignment>> map_delegates(const Buffer& pt2, const std::string& where,
                                                  const backends::Backend& backend, const SplitOptions& split,
                                                  const backends::DelegateOptions& options, const Log& log) {
  CARINA_TRY(const ir::Graph graph, pt2::read_pt2(pt2, where, Log{}));
  CARINA_TRY(models::Model model, models::import_pt2(pt2, where, log));
  CARINA_CHECKED(models::quantize_model(model, {.mode = models::QuantizeMode::kAuto, .samples = {}}, log));
  Kept kept;
  for (;;) {  // ends: each time at least one node more is kept
    CARINA_TRY(const Delegated delegated, delegate_graph(model.graph, backend, keeping(split, kept), options, log));
    const PartsOfNodes parts = parts_of(model, delegated.split.partitioned.decisions);
    Coloring coloring(graph, assignments_of(parts), kept);
    coloring.run();
    Kept more = kept;
    for (const size_t node : coloring.waiting()) more.emplace(node, not_whole());
    for (size_t n = 0; n < parts.size(); ++n) {
      if (!parts[n].empty() && !lies_in_one_delegate(parts[n])) more.emplace(n, not_whole());
    }
    coloring.keep_wide_boundaries(more);
    if (more.size() == kept.size()) return described_all(model, coloring.assignments(), parts);
    kept = std::move(more);
  }
}

}  // namespace carina::driver
