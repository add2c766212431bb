#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "frontend/pt2/aliases_internal.h"
#include "frontend/pt2/archive_internal.h"
#include "frontend/pt2/reader.h"
#include "frontend/pt2/scope_internal.h"
#include "frontend/pt2/target_internal.h"
#include "frontend/pt2/tensor_meta_internal.h"
#include "ir/graph.h"

namespace carina::pt2 {

// Makes an ATen graph from the description of an exported program. It continues after a node that it cannot read, so
// that all errors are reported at once.
class Importer {
 public:
  // All arguments must outlive the importer.
  Importer(JsonView program, JsonView weights, JsonView constants, Archive& archive, const Log& log,
           const ReadOptions& options)
      : program_(program),
        weights_(weights),
        constants_(constants),
        archive_(archive),
        log_(log),
        options_(options),
        aliases_(graph_) {}

  Reading run();

 private:
  // Bounds the size of the graph, whatever a file says.
  static constexpr int64_t kMaxUnrolled = 1 << 14;

  // A result of a node: its name in the program, and its value in the graph.
  struct NamedValue {
    std::string_view name;
    ir::ValueId value;
  };

  // A buffer or parameter.
  struct StoredTensor {
    std::string_view placeholder;  // its name in the program's graph
    std::string name;              // in the user's model
    ir::ValueId value;             // its content when the program begins
    ir::ValueId last = {};         // its content when the program ends, if the program changes it
  };

  Result<void> import_program();
  ir::Graph readable_part();
  void check_version();
  Scope& open_scope(JsonView graph);
  // Inputs and outputs of the program.
  void import_inputs(Scope& scope);
  void reject_lost();
  void import_user_input(Scope& scope, JsonView argument);
  void import_stored(Scope& scope, std::string_view name, Store store, std::string_view fqn);
  void import_constant(Scope& scope, std::string_view name, Store store, std::string_view fqn);
  void import_outputs(Scope& scope);
  void import_user_output(const Scope& scope, JsonView argument, size_t index);
  // Nodes.
  void import_nodes(Scope& scope);
  void import_node(Scope& scope, JsonView json);
  void import_listed_node(Scope& scope, JsonView json, const Target& target, ir::Node node);
  void import_operator(Scope& scope, JsonView json, bool in_place, ir::Node node);
  // Nodes with subgraphs (regions.cpp).
  void import_region(Scope& scope, JsonView json, const std::string& where);
  void import_choice(Scope& scope, JsonView json, const ir::Node& node);
  void import_loop(Scope& scope, JsonView json, const ir::Node& node);
  bool run_round(const ir::Node& node, std::span<const JsonView> graphs, std::vector<ir::ValueId>& state);
  std::vector<ir::ValueId> inlined(JsonView graph, std::span<const ir::ValueId> operands, const std::string& where);
  void bind_results(Scope& scope, JsonView outputs, std::span<const ir::ValueId> results);
  std::vector<ir::ValueId> choose(const ir::Node& node, ir::ValueId condition, std::span<const ir::ValueId> yes,
                                  std::span<const ir::ValueId> no);
  // Nodes that apply a subgraph to the elements of sequences (sequences.cpp).
  void import_sequence(Scope& scope, JsonView json, const ir::Node& node);
  ir::ValueId element_of(const ir::Node& node, ir::ValueId sequence, int64_t index);
  ir::ValueId stacked(const ir::Node& node, std::vector<ir::ValueId> elements);
  void reject_operator(Scope& scope, JsonView json, const ir::Node& node, std::string_view reason, std::string hint);
  void keep_unknown(const Scope& scope, JsonView json, ir::Node node, size_t first_problem);
  std::vector<NamedValue> add_results(const Scope& scope, JsonView outputs, const std::string& where);
  ir::ValueId add_result(const Scope& scope, std::string_view name, const std::string& where);
  ir::ValueId add_unreadable(std::string_view name);
  Result<void> add_operator(ir::Node node, bool in_place, const std::string& where);
  void verify_nodes();
  Result<void> track_memory(ir::NodeId id, bool in_place, const std::string& where);
  // Changes that the program makes to its inputs, buffers and parameters.
  void import_mutation(const Scope& scope, std::string_view kind, JsonView spec, JsonView output);
  void find_last_contents(const Scope& scope);
  Result<void> add_states();
  Result<void> settle_changes(const Scope& scope);

  [[nodiscard]] std::string where_of(const ir::Node& node) const;
  void reject(Diagnostic problem);
  void reject(Diagnostics problems);
  void note(std::string what, std::string hint = {}) const;
  [[nodiscard]] bool broken() const { return program_.errors().first.has_value(); }

  JsonView program_;
  JsonView weights_;
  JsonView constants_;
  Archive& archive_;
  const Log& log_;
  const ReadOptions& options_;
  ir::Graph graph_;
  Aliases aliases_;
  Symbols symbols_;
  std::vector<ModelNode> nodes_;
  std::optional<size_t> node_;  // index in `nodes_` of the node that is being read
  Diagnostics problems_;
  Diagnostics lost_;                            // stored tensors that cannot be read
  std::set<ir::ValueId> unreadable_;            // values whose types are not known
  Diagnostics unknown_;                         // findings on nodes of unknown operators, which stay in the graph
  std::vector<std::unique_ptr<Scope>> scopes_;  // all scopes so far, because names of finished scopes are still used
  std::set<std::string, std::less<>> overwritten_;  // inputs and constants that the program overwrites
  std::vector<StoredTensor> stored_;                // buffers and parameters, which may be state
  int depth_ = 0;                                   // nesting depth of regions
  int64_t unrolled_ = 0;                            // elements of sequences, each with a copy of a subgraph
};

}  // namespace carina::pt2
