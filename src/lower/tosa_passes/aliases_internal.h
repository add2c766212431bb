#pragma once

#include <vector>

#include "ir/graph.h"

namespace carina::lower {

// Values that turned out to be other values, while a graph's nodes are gone through in order.
class Aliases {
 public:
  explicit Aliases(ir::Graph& graph) : graph_(graph), alias_(graph.values.size()), is_output_(ir::is_output(graph)) {}

  [[nodiscard]] ir::ValueId operator()(ir::ValueId id) const {
    while (id.valid() && id.index() < alias_.size() && alias_[id.index()].valid()) id = alias_[id.index()];
    return id;
  }
  // Whether `value` may become `source`. A graph output must stay a value that a node makes, and one of its own.
  [[nodiscard]] bool may_replace(ir::ValueId value, ir::ValueId source) const;
  void replace(ir::ValueId value, ir::ValueId source);

 private:
  ir::Graph& graph_;
  std::vector<ir::ValueId> alias_;
  std::vector<bool> is_output_;
};

}  // namespace carina::lower
