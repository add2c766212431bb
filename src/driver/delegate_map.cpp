#include "driver/delegate_map.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "driver/cpu_nodes.h"
#include "driver/delegation.h"
#include "driver/whole_delegate.h"
#include "facts/aten_quantization.h"
#include "frontend/pt2/reader.h"
#include "models/import.h"
#include "models/quantize.h"

// Says which delegate each node of the user's model belongs to. The compiler decides about normalized nodes, whose
// origins lead back to the user's nodes. Some user's nodes have no normalized node: a quantize node became the
// parameters of a value, a clone disappeared. They take the delegate of their neighbors, in sweeps over the nodes in
// order (producers decide) and in reverse (readers decide).
//
//   Example: conv [delegate 0] -> dequantize -> clone -> quantize -> conv [delegate 0]. The compiled program has two
//   convolutions. assign_within() finds that all producers and all readers of the three nodes between them are in
//   delegate 0, and puts them there. At a boundary, a quantize node belongs to the delegate that produces its operand,
//   and a dequantize node to the one that reads its result.
//
// A delegate that would then wait for itself, a node that was divided, an int64 value at a boundary, or a delegate that
// does not compile when it is cut out, puts nodes on the CPU, with a reason. The partitioning is repeated with these
// nodes on the CPU until there are none. Each round takes at least one node more, so it ends. Time of a round: a
// compilation, and a few sweeps over the edges for each delegate. Delegates are compiled one by one only when nothing
// else puts a node on the CPU.
namespace carina::driver {

namespace {

using partition::Decision;

constexpr int kCpu = -1;

// For each node of the user's graph, the decisions about the nodes made from it.
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

using Assignments = std::vector<std::optional<int>>;  // per node of the user's model; no value: it produced no operator
using Kept = std::map<size_t, ir::Rejection>;  // nodes of the user's model that must stay on the CPU, with the reason

ir::Rejection not_whole() {
  return {.node = {},
          .rule = "whole node",
          .reason = "it could not be cut out of the graph as a whole",
          .hint = "export it as operators of its own: run_decompositions()"};
}

// Delegates have 32-bit integers, and a caller that partitions the graph inserts no conversions at their boundaries.
ir::Rejection wide_boundary(const ir::Value& value) {
  return {.node = {},
          .rule = "types.boundary",
          .reason = value.name + " is i64 where a delegate would begin or end, delegates take and give 32 bits",
          .hint = "convert it to int32 in the model"};
}

// The user's graph as imported, with the delegate of each node.
class Coloring {
 public:
  // `takes_floats`: delegates contain their own quantize and dequantize nodes.
  Coloring(const ir::Graph& graph, Assignments of_node, const Kept& kept, bool takes_floats)
      : graph_(graph),
        kept_(kept),
        takes_floats_(takes_floats),
        producers_(ir::producers(graph)),
        users_(ir::users(graph)),
        is_output_(ir::is_output(graph)),
        decided_(std::move(of_node)),
        assignments_(decided_),
        is_source_(find_sources()) {}

  // Assigns nodes that produced no operator to the delegates of their neighbors: first nodes inside of a delegate, then
  // a quantize node to the producer of its operand and a dequantize node to the readers of its result.
  void run() {
    assign_within();
    const std::vector<bool> integers = moved_integers();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_open(n) && step_of(n) != QuantizationStep::kDequantize) assignment(n) = of_producers(n);
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (is_open(n) && (step_of(n) != QuantizationStep::kQuantize || integers[n])) assignment(n) = of_readers(n);
    }
    assign_moved_results();
    if (!takes_floats_) return;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_open(n)) assignment(n) = of_producers(n);
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (is_open(n)) assignment(n) = of_readers(n);
    }
  }

  [[nodiscard]] const Assignments& assignments() const { return assignments_; }

  // Finds nodes of the user's model in delegates that have a 64-bit integer as an input or output of the delegate.
  void keep_wide_boundaries(Kept& kept) const {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const ir::Value& value = graph_.values[v];
      if (value.dtype != DType::kInt64 || value.constant) continue;
      const ir::NodeId producer = producers_[v];
      const int made = delegate_or_cpu(producer);
      bool leaves = is_output_[v];
      for (const ir::NodeId reader : users_[v]) {
        const int read = delegate_or_cpu(reader);
        leaves |= read != made;
        if (read != made && read != kCpu) kept.emplace(graph_[reader].origin.index(), wide_boundary(value));
      }
      if (leaves && made != kCpu) kept.emplace(graph_[producer].origin.index(), wide_boundary(value));
    }
  }

  // Returns the nodes of the user's model that depend on results of their own delegate through nodes outside of it.
  // Such a delegate would wait for itself.
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

  // Finds open nodes that depend only on integers, through a dequantize node and other open nodes:
  // dequantize -> alias_copy -> quantize.
  [[nodiscard]] std::vector<bool> moved_integers() const {
    std::vector<bool> found(graph_.nodes.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_open(n)) continue;
      found[n] = step_of(n) == QuantizationStep::kDequantize ||
                 std::ranges::all_of(graph_.nodes[n].inputs, [&](ir::ValueId operand) {
                   if (!operand.valid() || graph_[operand].constant) return true;
                   const ir::NodeId producer = producers_[operand.index()];
                   return producer.valid() && found[producer.index()];
                 });
    }
    return found;
  }

  // Assigns open nodes to a delegate if all of their producers and all of their readers are in that delegate or are
  // such nodes themselves.
  void assign_within() {
    Assignments from(graph_.nodes.size()), to(graph_.nodes.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_open(n)) from[n] = of_producers(n, &from);
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (is_open(n)) to[n] = of_readers(n, &to);
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_open(n) && from[n] && from[n] == to[n]) assignment(n) = from[n];
    }
  }

  // Assigns open nodes after a delegate, from a dequantize node of its integers to quantize nodes, to the delegate, if
  // no other node reads them: dequantize -> clone -> quantize.
  void assign_moved_results() {
    Assignments from(graph_.nodes.size()), to(graph_.nodes.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_open(n)) from[n] = of_producers(n, &from);
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (is_open(n)) to[n] = step_of(n) == QuantizationStep::kQuantize ? from[n] : of_readers(n, &to);
    }
    std::vector<bool> moves(graph_.nodes.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      moves[n] = is_open(n) && from[n] && from[n] == to[n] &&
                 std::ranges::all_of(graph_.nodes[n].inputs, [&](ir::ValueId operand) {
                   const ir::NodeId producer = operand.valid() ? producers_[operand.index()] : ir::NodeId();
                   return !producer.valid() || !is_open(producer.index()) || moves[producer.index()];
                 });
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (moves[n]) assignment(n) = from[n];
    }
  }

  // Finds open nodes that depend on no input of the model: aten.zeros, quantize(aten.zeros).
  [[nodiscard]] std::vector<bool> find_sources() const {
    std::vector<bool> found(graph_.nodes.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      found[n] = is_open(n) && std::ranges::all_of(graph_.nodes[n].inputs, [&](ir::ValueId operand) {
                   if (!operand.valid() || graph_[operand].constant) return true;
                   const ir::NodeId producer = producers_[operand.index()];
                   return producer.valid() && found[producer.index()];
                 });
    }
    return found;
  }

  // Returns the delegate that produces all operands except constants and results of source nodes, if there is one.
  // `open` gives the assignments of open nodes.
  [[nodiscard]] std::optional<int> of_producers(size_t node, const Assignments* open = nullptr) const {
    std::optional<int> found;
    for (const ir::ValueId operand : graph_.nodes[node].inputs) {
      if (!operand.valid() || graph_[operand].constant) continue;
      const ir::NodeId producer = producers_[operand.index()];
      if (producer.valid() && is_source_[producer.index()]) continue;
      if (!producer.valid() || !agrees(found, producer, open)) return std::nullopt;
    }
    return found;
  }

  // Returns the delegate that reads all of the node's results, if there is one.
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

  // Returns whether a neighbor is in a delegate, and in the same one as the previous neighbors.
  bool agrees(std::optional<int>& found, ir::NodeId neighbor, const Assignments* open) const {
    if (!graph_[neighbor].origin.valid()) return false;
    const bool stands_in = open != nullptr && is_open(neighbor.index());
    const std::optional<int> its = stands_in ? (*open)[neighbor.index()] : assignment(neighbor.index());
    if (!its || *its == kCpu || (found && *found != *its)) return false;
    found = its;
    return true;
  }

  void add_waiting(int delegate, std::set<size_t>& found) const {
    std::vector<bool> after(graph_.nodes.size(), false);  // outside of the delegate, and depends on its results
    std::vector<bool> waits(graph_.nodes.size(), false);  // inside of the delegate, and depends on such a node
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const ir::NodeId origin = graph_.nodes[n].origin;
      const bool inside = origin.valid() && assignment(n) == delegate;
      for (const ir::ValueId operand : graph_.nodes[n].inputs) {
        const ir::NodeId producer = operand.valid() ? producers_[operand.index()] : ir::NodeId();
        if (!producer.valid()) continue;
        const bool made_inside = graph_[producer].origin.valid() && assignment(producer.index()) == delegate;
        if (inside) {
          waits[n] = waits[n] || after[producer.index()] ||
                     (waits[producer.index()] && !decided_[graph_[producer].origin.index()]);
        } else {
          after[n] = after[n] || made_inside || after[producer.index()];
        }
      }
      if (waits[n] && decided_[origin.index()]) found.insert(origin.index());
    }
  }

  const ir::Graph& graph_;
  const Kept& kept_;
  bool takes_floats_;
  std::vector<ir::NodeId> producers_;
  std::vector<std::vector<ir::NodeId>> users_;
  std::vector<bool> is_output_;
  Assignments decided_;
  Assignments assignments_;
  std::vector<bool> is_source_;
};

Assignments assignments_of(const PartsOfNodes& parts) {
  Assignments assignments(parts.size());
  for (size_t n = 0; n < parts.size(); ++n) {
    if (!parts[n].empty()) assignments[n] = parts[n].front()->runs_on_npu ? parts[n].front()->delegate : kCpu;
  }
  return assignments;
}

// Returns the user's options, with these nodes of the user's model kept on the CPU too.
SplitOptions keeping(const SplitOptions& split, const Kept& kept) {
  SplitOptions choices = split;
  choices.keep = [&split, &kept](const ir::Node& node) -> std::optional<ir::Rejection> {
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
                                          const PartsOfNodes& parts, const Kept& kept) {
  std::vector<NodeAssignment> nodes;
  for (size_t n = 0; n < model.nodes.size(); ++n) {
    NodeAssignment& node = nodes.emplace_back(described(model.nodes[n], assignments[n], parts[n]));
    const auto rejection = kept.find(n);
    if (node.delegate != kCpu || rejection == kept.end()) continue;
    node.reason = rejection->second.reason;
    node.hint = rejection->second.hint;
  }
  return nodes;
}

// Returns the nodes of one delegate as a graph. Its inputs are the values that they read from other nodes, its outputs
// the values that other nodes read.
ir::Graph cut_out(const ir::Graph& graph, const Assignments& assignments, int delegate) {
  const auto is_inside = [&](ir::NodeId node) {
    return node.valid() && graph[node].origin.valid() && assignments[graph[node].origin.index()] == delegate;
  };
  const std::vector<std::vector<ir::NodeId>> users = ir::users(graph);
  const std::vector<bool> is_output = ir::is_output(graph);
  ir::Graph cut;
  std::map<ir::ValueId, ir::ValueId> inside;
  const auto take = [&](ir::ValueId id) {
    if (!id.valid()) return id;
    const auto [entry, is_new] = inside.try_emplace(id);
    if (!is_new) return entry->second;
    entry->second = cut.add_value(ir::Value(graph[id]));
    if (!graph[id].constant) cut.inputs.push_back(entry->second);
    return entry->second;
  };
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!is_inside(ir::NodeId(n))) continue;
    ir::Node node = graph.nodes[n];
    std::ranges::transform(node.inputs, node.inputs.begin(), take);
    for (ir::ValueId& output : node.outputs) {
      if (!output.valid()) continue;
      const size_t made = output.index();
      output = inside[output] = cut.add_value(ir::Value(graph[output]));
      const bool leaves = is_output[made] || !std::ranges::all_of(users[made], is_inside);
      if (leaves) cut.outputs.push_back(output);
    }
    cut.add_node(std::move(node));
  }
  return cut;
}

// Compiles all of a graph as one delegate, as the backend will do after the caller has cut it out. In errors about a
// node, Diagnostic::node is a node of the user's model.
Result<void> try_whole(models::Model cut, const backends::Backend& backend, const backends::DelegateOptions& options) {
  const Log silent;
  CARINA_CHECKED(models::normalize_graph(cut.graph, {}, silent));
  if (auto done = models::quantize_model(cut, {.mode = models::QuantizeMode::kAuto, .samples = {}}, silent); !done)
    return done;
  auto lowered = lower_whole(cut.graph, backend.lowering, silent);
  if (!lowered) return fail(about_origins(std::move(lowered).error(), cut.graph));
  auto compiled = backend.compile(lowered->graph, options, silent);
  if (compiled) return {};
  return fail(about_origins(about_origins(std::move(compiled).error(), lowered->graph), cut.graph));
}

ir::Rejection rejection_of(Diagnostic error) {
  std::string hint = std::move(error.hint);
  error.hint.clear();
  error.where.clear();
  return {.node = {}, .rule = "delegate", .reason = to_string(error), .hint = std::move(hint)};
}

// Keeps nodes on the CPU that a backend would reject after they are cut out: the nodes of its errors, or else all nodes
// of the delegate.
void keep_rejected(const ir::Graph& graph, const models::Model& model, const Assignments& assignments,
                   const backends::Backend& backend, const backends::DelegateOptions& options, Kept& kept) {
  std::set<int> delegates;
  for (const std::optional<int>& assigned : assignments) {
    if (assigned && *assigned != kCpu) delegates.insert(*assigned);
  }
  for (const int delegate : delegates) {
    const auto made = try_whole(
        {.name = model.name, .nodes = model.nodes, .graph = cut_out(graph, assignments, delegate)}, backend, options);
    if (made) continue;
    const auto is_about = [&](const Diagnostic& error) {
      return error.node && *error.node < assignments.size() && assignments[*error.node] == delegate;
    };
    for (const Diagnostic& error : made.error()) {
      if (is_about(error)) kept.emplace(*error.node, rejection_of(error));
    }
    if (std::ranges::any_of(made.error(), is_about)) continue;
    for (size_t n = 0; n < assignments.size(); ++n) {
      if (assignments[n] == delegate) kept.emplace(n, rejection_of(made.error().front()));
    }
  }
}

ir::Rejection as_asked() {
  return {.node = {}, .rule = "user.node", .reason = "a check keeps the node on the CPU", .hint = "remove the check"};
}

// Returns the nodes that stay on the CPU from the start: those with unknown operators and those that the user names.
Kept kept_from_start(const models::Import& import, const SplitOptions& split) {
  Kept kept;
  for (size_t n = 0; n < import.nodes.size(); ++n) {
    if (std::ranges::find(split.cpu_nodes, import.nodes[n].name) != split.cpu_nodes.end()) kept.emplace(n, as_asked());
  }
  for (const Diagnostic& error : import.unknown) {
    if (error.node) kept.emplace(*error.node, rejection_of(error));
  }
  return kept;
}

}  // namespace

Result<std::vector<NodeAssignment>> map_delegates(const Buffer& pt2, const std::string& where,
                                                  const backends::Backend& backend, const SplitOptions& split,
                                                  const backends::DelegateOptions& given, const Log& log) {
  backends::DelegateOptions options = given;
  options.check = options::Check::kOff;  // no program is written
  const pt2::Reading reading = pt2::read_model(pt2, where, Log{}, {.keep_unknown = true});
  if (!reading.graph) return std::unexpected(reading.graph.error());
  const ir::Graph& graph = *reading.graph;
  models::Import import = models::import_model(pt2, where, log, {.keep_unknown = true});
  if (!import.graph) return std::unexpected(std::move(import.graph).error());
  Kept kept = kept_from_start(import, split);
  models::Model model{.name = where, .nodes = std::move(import.nodes), .graph = *std::move(import.graph)};
  CARINA_CHECKED(models::quantize_model(model, {.mode = models::QuantizeMode::kAuto, .samples = {}}, log));
  CARINA_TRY(SplitOptions choices, with_user_nodes(split, model));
  choices.cpu_nodes.clear();
  for (;;) {  // terminates, because each iteration keeps at least one more node
    CARINA_TRY(const Delegated delegated, delegate_graph(model.graph, backend, keeping(choices, kept), options, log));
    const PartsOfNodes parts = parts_of(model, delegated.split.partitioned.decisions);
    Coloring coloring(graph, assignments_of(parts), kept, backend.lowering.takes_floats);
    coloring.run();
    Kept more = kept;
    for (const size_t node : coloring.waiting()) more.emplace(node, not_whole());
    for (size_t n = 0; n < parts.size(); ++n) {
      if (!parts[n].empty() && !lies_in_one_delegate(parts[n])) more.emplace(n, not_whole());
    }
    coloring.keep_wide_boundaries(more);
    if (more.size() == kept.size()) keep_rejected(graph, model, coloring.assignments(), backend, options, more);
    if (more.size() == kept.size()) return described_all(model, coloring.assignments(), parts, kept);
    kept = std::move(more);
  }
}

}  // namespace carina::driver
