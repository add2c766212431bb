#include "ir/graph.h"

#include <algorithm>

namespace carina::ir {

// Defined here and not inline, because they instantiate everything that nodes and values contain.
Graph::Graph() = default;
Graph::Graph(const Graph&) = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(const Graph&) = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

std::string Graph::unique_name(std::string_view wanted) {
  std::string base(wanted.empty() ? "v" : wanted);
  if (!index_of_name_.contains(base)) return base;
  int& taken = taken_numbers_[base];
  std::string name;
  do name = base + "_" + std::to_string(++taken);
  while (index_of_name_.contains(name));
  --taken;  // the value may not be added
  return name;
}

ValueId Graph::add_value(Value value) {
  const ValueId id(values.size());
  const auto index = static_cast<uint32_t>(id.index());
  if (value.name.empty() || !index_of_name_.try_emplace(value.name, index).second) {
    value.name = unique_name(value.name);
    index_of_name_.emplace(value.name, index);
  }
  values.push_back(std::move(value));
  return id;
}

void Graph::rename(ValueId id, std::string_view name) {
  if (values[id.index()].name == name) return;
  const std::string& before = values[id.index()].name;
  index_of_name_.erase(before);
  if (const size_t end = before.rfind('_'); end != std::string::npos) taken_numbers_.erase(before.substr(0, end));
  values[id.index()].name = unique_name(name);
  index_of_name_.emplace(values[id.index()].name, static_cast<uint32_t>(id.index()));
}

NodeId Graph::add_node(Node node) {
  const NodeId id(nodes.size());
  nodes.push_back(std::move(node));
  return id;
}

std::optional<ValueId> Graph::find_value(std::string_view name) const {
  const auto found = index_of_name_.find(std::string(name));
  if (found == index_of_name_.end()) return std::nullopt;
  return ValueId(found->second);
}

const Graph* Module::find(std::string_view name) const {
  const auto found = std::ranges::find(graphs, name, &Graph::name);
  return found == graphs.end() ? nullptr : &*found;
}

std::vector<NodeId> producers(const Graph& graph) {
  std::vector<NodeId> result(graph.values.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId output : graph.nodes[n].outputs) {
      if (output.valid()) result[output.index()] = NodeId(n);
    }
  }
  return result;
}

std::vector<std::vector<NodeId>> users(const Graph& graph) {
  std::vector<std::vector<NodeId>> result(graph.values.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId input : graph.nodes[n].inputs) {
      if (input.valid()) result[input.index()].emplace_back(n);
    }
  }
  return result;
}

std::vector<bool> is_output(const Graph& graph) {
  std::vector<bool> result(graph.values.size(), false);
  for (const ValueId output : graph.outputs) {
    if (output.valid()) result[output.index()] = true;
  }
  return result;
}

namespace {

// Returns whether the node has an effect besides its outputs: it declares or writes a variable.
bool has_effect(const Node& node) {
  return node.op == Op(TosaOp::VARIABLE) || node.op == Op(TosaOp::VARIABLE_WRITE);
}

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> needed = is_output(graph);
  std::vector<bool> live(graph.nodes.size(), false);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    live[n] = has_effect(node) ||
              std::ranges::any_of(node.outputs, [&](ValueId v) { return v.valid() && needed[v.index()]; });
    if (!live[n]) continue;
    for (const ValueId input : node.inputs) {
      if (input.valid()) needed[input.index()] = true;
    }
  }
  return live;
}

}  // namespace

void remove_dead(Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  std::vector<ValueId> renumbered(graph.values.size());
  Graph kept;
  kept.name = graph.name;
  kept.states = std::move(graph.states);
  const auto keep = [&](ValueId old) {
    if (!old.valid()) return old;
    ValueId& id = renumbered[old.index()];
    if (!id.valid()) id = kept.add_value(std::move(graph[old]));
    return id;
  };
  for (const ValueId input : graph.inputs) kept.inputs.push_back(keep(input));
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!live[n]) continue;
    Node& node = graph.nodes[n];
    std::ranges::transform(node.inputs, node.inputs.begin(), keep);
    std::ranges::transform(node.outputs, node.outputs.begin(), keep);
    kept.nodes.push_back(std::move(node));
  }
  for (const ValueId output : graph.outputs) kept.outputs.push_back(keep(output));
  graph = std::move(kept);
}

}  // namespace carina::ir
