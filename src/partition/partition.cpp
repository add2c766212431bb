#include "partition/partition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/text/nearest.h"
#include "facts/aten_traits.h"
#include "facts/cpu_costs.h"
#include "ir/operator_name.h"
#include "ir/propagate_quantization.h"
#include "partition/cost_internal.h"
#include "partition/grouping_internal.h"
#include "partition/split_internal.h"

namespace carina::partition {

namespace {

using ir::Node;

// Checks the names. Errors: names that the graph does not have.
Result<void> check_filters(const ir::Graph& graph, const PartitionOptions& options) {
  Diagnostics errors;
  const auto check = [&](const std::vector<std::string>& names, std::string_view what, const auto& matches) {
    for (const std::string& name : names) {
      if (std::ranges::any_of(graph.nodes, [&](const Node& node) { return matches(node, name); })) continue;
      std::set<std::string> all;
      for (const Node& node : graph.nodes) all.insert(what == "node" ? node.name : std::string(node.op.name()));
      errors.push_back(
          {.where = "--cpu-" + std::string(what),
           .what = "unknown " + std::string(what == "op" ? "operator" : what),
           .got = name,
           .hint = with_nearest(name, {all.begin(), all.end()}, fmt::format("the model has: {}", fmt::join(all, ", "))),
           .fault = Fault::kUsage});
    }
  };
  check(options.cpu_nodes, "node", [](const Node& node, const std::string& name) { return node.name == name; });
  check(options.cpu_ops, "op",
        [](const Node& node, const std::string& name) { return ir::is_called(node.op.name(), name); });
  if (!errors.empty()) return fail(std::move(errors));
  return {};
}

using ir::Rejection;

std::optional<Rejection> user_constraint(const Node& node, const PartitionOptions& options) {
  if (options.delegates == options::DelegateMode::kNothing)
    return Rejection{
        .rule = "user.nothing", .reason = "--no-delegate keeps all nodes on the CPU", .hint = "remove --no-delegate"};
  if (std::ranges::find(options.cpu_nodes, node.name) != options.cpu_nodes.end())
    return Rejection{
        .rule = "user.node", .reason = "--cpu-node keeps the node on the CPU", .hint = "remove --cpu-node"};
  if (options.keep) {
    if (auto constraint = options.keep(node)) return constraint;
  }
  const bool by_op = std::ranges::any_of(options.cpu_ops,
                                         [&](const std::string& name) { return ir::is_called(node.op.name(), name); });
  return by_op ? std::optional(Rejection{
                     .rule = "user.op", .reason = "--cpu-op keeps the operator on the CPU", .hint = "remove --cpu-op"})
               : std::nullopt;
}

std::optional<Rejection> earlier_rejection(ir::NodeId node, const PartitionOptions& options) {
  const auto found = std::ranges::find(options.rejected, node, &Rejection::node);
  return found == options.rejected.end() ? std::nullopt : std::optional(*found);
}

std::vector<Decision> decide(const ir::Graph& annotated, const Legality& legality, const PartitionOptions& options) {
  const std::vector<std::optional<Rejection>> rejections = legality(annotated);
  std::vector<Decision> decisions;
  for (size_t n = 0; n < annotated.nodes.size(); ++n) {
    const Node& node = annotated.nodes[n];
    auto rejection = user_constraint(node, options);
    if (!rejection) rejection = earlier_rejection(ir::NodeId(n), options);
    if (!rejection) rejection = rejections[n];
    decisions.push_back({.node = ir::NodeId(n),
                         .name = node.name,
                         .op = std::string(node.op.name()),
                         .source = node.source,
                         .runs_on_npu = !rejection,
                         .delegate = kOnCpu,
                         .reason = rejection ? rejection->reason : "supported",
                         .hint = rejection ? rejection->hint : "",
                         .rule = rejection ? rejection->rule : "",
                         .cpu_cycles = 0});
  }
  return decisions;
}

// Groups that only move data stay on the CPU: calling the NPU costs more than it saves.
void drop_idle_groups(const ir::Graph& graph, std::vector<int>& group_of, std::vector<Decision>& decisions) {
  std::set<int> busy;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!is_data_movement(graph.nodes[n].op.aten())) busy.insert(group_of[n]);
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (group_of[n] == kOnCpu || busy.contains(group_of[n])) continue;
    group_of[n] = kOnCpu;
    decisions[n].runs_on_npu = false;
    decisions[n].reason = "the group only moves data, and no neighbor computes on the NPU";
    decisions[n].rule = "group.idle";
    decisions[n].hint = "--delegate-all puts it on the NPU";
  }
}

// The groups that read and produce a value.
struct Neighbors {
  int producer = kOnCpu;
  std::set<int> readers;  // includes kOnCpu if the value is a program output
};

std::vector<Neighbors> neighbors_of_values(const ir::Graph& graph, const std::vector<int>& group_of) {
  std::vector<Neighbors> out(graph.values.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ir::ValueId output : graph.nodes[n].outputs) {
      if (output.valid()) out[output.index()].producer = group_of[n];
    }
    for (const ir::ValueId input : graph.nodes[n].inputs) {
      if (input.valid()) out[input.index()].readers.insert(group_of[n]);
    }
  }
  for (const ir::ValueId output : graph.outputs) out[output.index()].readers.insert(kOnCpu);
  return out;
}

// Returns the groups that need a Q/DQ node for a value: the producing group if the CPU reads the value, or all reading
// groups if the CPU produces it. Splitter inserts one node for all readers. Delegates pass integers to each other.
std::vector<int> groups_at_boundary(const Neighbors& value) {
  std::vector<int> out;
  if (value.producer == kOnCpu) {
    std::ranges::copy_if(value.readers, std::back_inserter(out), [](int group) { return group != kOnCpu; });
  } else if (value.readers.contains(kOnCpu)) {
    out.push_back(value.producer);
  }
  return out;
}

// Returns the CPU cycles that each group saves, minus the cost of its call: the call itself and the Q/DQ nodes that the
// model does not have anyway.
std::map<int, int64_t> saved_cycles(const ir::Graph& graph, const ir::Graph& annotated,
                                    const std::vector<int>& group_of, CpuArithmetic arithmetic) {
  std::map<int, int64_t> saved;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (group_of[n] == kOnCpu) continue;
    saved.try_emplace(group_of[n], -kCpuCostOfDelegateCall).first->second +=
        cpu_cycles_of(annotated, annotated.nodes[n], arithmetic);
  }
  const std::vector<Neighbors> neighbors = neighbors_of_values(graph, group_of);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const ir::Value& value = graph.values[v];
    if (value.constant || value.quantization || !annotated.values[v].quantization) continue;
    const AtenOp op =
        neighbors[v].producer == kOnCpu ? AtenOp::quantize_per_tensor_default : AtenOp::dequantize_per_tensor_default;
    for (const int group : groups_at_boundary(neighbors[v])) saved[group] -= qdq_cycles_of(value, op);
  }
  return saved;
}

// Moves groups to the CPU if their call costs more than their nodes on the CPU. If no other node runs on the CPU, all
// groups stay on the NPU.
void drop_costly_groups(const ir::Graph& graph, const ir::Graph& annotated, CpuArithmetic arithmetic,
                        std::vector<int>& group_of, std::vector<Decision>& decisions) {
  if (std::ranges::find(group_of, kOnCpu) == group_of.end()) return;
  const std::map<int, int64_t> saved = saved_cycles(graph, annotated, group_of, arithmetic);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (group_of[n] == kOnCpu || saved.at(group_of[n]) >= 0) continue;
    decisions[n].runs_on_npu = false;
    decisions[n].reason =
        fmt::format("an NPU call for these nodes would take {} cycles longer than the CPU", -saved.at(group_of[n]));
    decisions[n].rule = "group.cost";
    decisions[n].hint = "--delegate-all puts it on the NPU";
    group_of[n] = kOnCpu;
  }
}

void add_cpu_cycles(const ir::Graph& annotated, CpuArithmetic arithmetic, std::vector<Decision>& decisions) {
  for (Decision& decision : decisions) {
    if (!decision.runs_on_npu) decision.cpu_cycles = cpu_cycles_of(annotated, annotated[decision.node], arithmetic);
  }
}

// Delegates are numbered in the order in which the program calls them.
void number_delegates(const ir::Graph& graph, const std::vector<int>& group_of, std::vector<Decision>& decisions) {
  int next = 0;
  for (const auto& members : ordered_groups(graph, group_of)) {
    if (group_of[members.front()] == kOnCpu) continue;
    for (const size_t n : members) decisions[n].delegate = next;
    ++next;
  }
}

// Returns whether the target does not support the node. Nodes that the user or the cost of a call keeps on the CPU are
// not included, since they compute the same there.
bool is_rejected(const Decision& decision) {
  return !decision.runs_on_npu && !decision.rule.starts_with("user.") && !decision.rule.starts_with("group.");
}

// Removes the quantization of values that only nodes without NPU support read and produce.
ir::Graph with_floats_kept(ir::Graph graph, const std::vector<Decision>& decisions) {
  std::vector<bool> on_cpu(graph.values.size(), false), elsewhere(graph.values.size(), false);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const auto* ids : {&graph.nodes[n].inputs, &graph.nodes[n].outputs}) {
      for (const ir::ValueId id : *ids) {
        if (id.valid()) (is_rejected(decisions[n]) ? on_cpu : elsewhere)[id.index()] = true;
      }
    }
  }
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (on_cpu[v] && !elsewhere[v] && !graph.values[v].constant) graph.values[v].quantization.reset();
  }
  return graph;
}

}  // namespace

Result<Partitioned> partition(const ir::Graph& aten, const Legality& legality, const PartitionOptions& options,
                              const Log&) {
  CARINA_CHECKED(check_filters(aten, options));
  ir::Graph annotated = aten;
  ir::propagate_quantization(annotated);
  std::vector<Decision> decisions = decide(annotated, legality, options);
  std::vector<bool> eligible;
  for (const Decision& decision : decisions) eligible.push_back(decision.runs_on_npu);
  std::vector<int> group_of = group_nodes(aten, eligible);
  if (options.delegates != options::DelegateMode::kAll) {
    drop_idle_groups(aten, group_of, decisions);
    drop_costly_groups(aten, annotated, options.arithmetic, group_of, decisions);
  }
  add_cpu_cycles(annotated, options.arithmetic, decisions);
  number_delegates(aten, group_of, decisions);
  const ir::Graph kept = options.floats == FloatsOnCpu::kKept ? with_floats_kept(aten, decisions) : aten;
  Partitioned result = split(kept, annotated, group_of);
  result.decisions = std::move(decisions);
  return result;
}

}  // namespace carina::partition
