#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "carina/result.h"
#include "frontend/pt2/scope_internal.h"
#include "ir/graph.h"

namespace carina::pt2 {

// Converts in-place writes to functional form. A tensor and its views share memory and form a family. A write through
// one of them gives all later uses of the family new values.
class Aliases {
 public:
  explicit Aliases(ir::Graph& graph) : graph_(graph) {}

  // Binds `name` in `scope` to `value`, a new tensor or another name of a known value.
  void bind(Scope& scope, std::string_view name, ir::ValueId value);
  // Records that node `view`, which was just added, produced `value` as a view of its first operand.
  void add_view(ir::ValueId value, ir::NodeId view);
  // Rebinds the names of `before` to `after`. Example: x.squeeze_() changes the value x, not the content of its memory.
  void rename(ir::ValueId before, ir::ValueId after);
  // Records that the memory of `before` now holds `after`. Views that are used later are made again, and a write
  // through a view is propagated to its base. Errors: a view for which that is impossible.
  Result<void> overwrite(ir::ValueId before, ir::ValueId after, const std::string& where);
  // Returns the tensor whose memory this value views (itself if it is not a view). After writes it is the first
  // version.
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
    ir::ValueId base;  // the viewed tensor; after writes it differs from the node's operand
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
