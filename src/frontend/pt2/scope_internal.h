#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/pt2/json_view_internal.h"
#include "frontend/pt2/tensor_meta_internal.h"
#include "ir/graph.h"

namespace carina::pt2 {

// The names of one graph of the exported program. Each subgraph has its own scope, because subgraphs reuse names. Keys
// are views of the JSON text, which must outlive the scope.
class Scope {
 public:
  explicit Scope(JsonView graph) : graph_(graph) {}

  [[nodiscard]] JsonView graph() const { return graph_; }
  void bind(std::string_view name, ir::ValueId value) { values_[name] = value; }
  [[nodiscard]] std::optional<ir::ValueId> find(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  // The values of the tensors that an Argument names; names without a tensor are left out.
  [[nodiscard]] std::vector<ir::ValueId> tensors_of(JsonView argument) const;

  // The value of a symbolic name in the example input: a size, a number or a truth value. Returns no value if it
  // depends on data.
  [[nodiscard]] std::optional<int64_t> symbolic_integer(std::string_view name, Symbols& symbols) const;
  [[nodiscard]] std::optional<double> symbolic_float(std::string_view name) const;
  [[nodiscard]] std::optional<bool> symbolic_bool(std::string_view name) const;

  // Sets the index of the current node. A name is live if a later node or the graph's results use it.
  void set_position(size_t node) { position_ = node; }
  [[nodiscard]] bool used_later(std::string_view name);
  // Makes a name live until the end: that of a buffer, whose last content is the state of the next run.
  void keep(std::string_view name) { kept_.insert(name); }

 private:
  void find_last_uses();

  JsonView graph_;
  std::unordered_map<std::string_view, ir::ValueId> values_;
  std::unordered_map<std::string_view, size_t> last_uses_;  // filled at the first call
  std::unordered_set<std::string_view> kept_;
  size_t position_ = 0;
};

}  // namespace carina::pt2
