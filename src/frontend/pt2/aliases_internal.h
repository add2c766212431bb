#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/diagnostic.h"
#include "frontend/pt2/scope_internal.h"
#include "ir/graph.h"

namespace carina::pt2 {

// Turns in-place writes into functional form. Names that share memory (a tensor and its views) are a family; a write
// through one of them gives all later uses of the family new values.
class Aliases {
 public:
  explicit Aliases(ir::Graph& graph) : graph_(graph) {}

  // `name` in `scope` now stands for `value`, a tensor of its own (or another name of a value that is known).
  void bind(Scope& scope, std::string_view name, ir::ValueId value);
  // Node `view`, just added, made `value` as a view of its first operand.
  void add_view(ir::ValueId value, ir::NodeId view);
  // The names that stood for `before` now stand for `after` (x.squeeze_() changes what x is, not what its memory
  // holds).
  void rename(ir::ValueId before, ir::ValueId after);
  // The value `before` has been overwritten: from now on its memory holds `after`. Views that are used later are made
  // again, and a write through a view is carried to what it is a view of. Errors: a view for which that is not
  // possible.
  Result<void> overwrite(ir::ValueId before, ir::ValueId after, const std::string& where);
  // The tensor whose memory this value shows (itself when it is no view). Versions after writes lead to the first.
  [[nodiscard]] ir::ValueId origin(ir::ValueId value) const;

 private:
  struct Binding {
    Scope* scope;
    std::string_view name;
  };
  struct Family {
    std::vector<Binding> names;        // in the order of binding
    std::vector<ir::ValueId> members;  // values, the base first
    ir::ValueId first_base;            // the base before all writes
  };
  struct View {
    ir::NodeId node;
    ir::ValueId base;  // what it shows now; after writes no longer the node's operand
  };
  using Replacements = std::unordered_map<uint32_t, ir::ValueId>;

  [[nodiscard]] size_t family_of(ir::ValueId value);
  Result<void> write_through(ir::ValueId before, Replacements& replaced, const std::string& where);
  void renew_views(const Family& family, Replacements& replaced);

  ir::Graph& graph_;
  std::vector<Family> families_;
  std::unordered_map<uint32_t, size_t> family_of_value_;
  std::unordered_map<uint32_t, View> view_of_;
};

}  // namespace carina::pt2
