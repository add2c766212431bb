#include "ir/subgraph.h"

#include <algorithm>
#include <map>

namespace carina::ir {

namespace {

class Extraction {
 public:
  explicit Extraction(const Graph& whole) : whole_(whole) { part_.graph.name = whole.name; }

  void add(const Node& node) {
    Node copy = node;
    std::ranges::transform(node.inputs, copy.inputs.begin(), [this](ValueId id) { return read(id); });
    std::ranges::transform(node.outputs, copy.outputs.begin(), [this](ValueId id) { return value(id); });
    part_.graph.add_node(std::move(copy));
  }

  Subgraph finish(std::span<const ValueId> outputs) && {
    for (const ValueId output : outputs) {
      part_.graph.outputs.push_back(known_.at(output));
      part_.outputs.push_back(output);
    }
    return std::move(part_);
  }

 private:
  ValueId value(ValueId id) {
    if (!id.valid()) return id;
    const ValueId copy = known_[id] = part_.graph.add_value(Value(whole_[id]));
    part_.origin.push_back(id);
    return copy;
  }

  ValueId read(ValueId id) {
    if (!id.valid()) return id;
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    const ValueId taken = value(id);
    if (whole_[id].constant) return taken;
    part_.graph.inputs.push_back(taken);
    part_.inputs.push_back(id);
    return taken;
  }

  const Graph& whole_;
  Subgraph part_;
  std::map<ValueId, ValueId> known_;
};

}  // namespace

Subgraph subgraph_of(const Graph& graph, std::span<const NodeId> members, std::span<const ValueId> outputs) {
  Extraction extraction(graph);
  for (const NodeId member : members) extraction.add(graph[member]);
  return std::move(extraction).finish(outputs);
}

}  // namespace carina::ir
