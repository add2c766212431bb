#pragma once

#include <vector>

#include "ir/graph.h"

namespace carina::lower {

// Maps values that are equal to other values, while a pass visits a graph's nodes in order.
class Aliases {
 public:
  explicit Aliases(ir::Graph& graph) : graph_(graph), alias_(graph.values.size()), is_output_(ir::is_output(graph)) {}

  [[nodiscard]] ir::ValueId operator()(ir::ValueId id) const {
    while (id.valid() && id.index() < alias_.size() && alias_[id.index()].valid()) id = alias_[id.index()];
    return id;
  }
  // Returns whether `source` may replace `value`. A graph output must be a distinct value that a node produces.
  [[nodiscard]] bool may_replace(ir::ValueId value, ir::ValueId source) const;
  void replace(ir::ValueId value, ir::ValueId source);

 private:
  ir::Graph& graph_;
  std::vector<ir::ValueId> alias_;
  std::vector<bool> is_output_;
};

}  // namespace carina::lower
