#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "interpret/arena_internal.h"
#include "interpret/ops/strided_view_internal.h"
#include "interpret/program_internal.h"

namespace carina::interpret {

// Makes a Program of a graph, in the order of its methods below.
class Planner {
 public:
  Planner(const ir::Graph& graph, const Options& options, const Watch* watch, Linker& linker)
      : graph_(graph), options_(options), linker_(linker), program_(new Program(graph, options, watch)) {}

  Result<std::unique_ptr<Program>> plan();

 private:
  Result<void> check_graph();  // ids, one producer before its users, known shapes, sizes within the budget
  Result<void> check_value(size_t index) const;
  void take_constants();
  Result<void> make_steps();
  Result<void> make_step(size_t node_index);
  void add_step(size_t node_index, Kernel kernel, const std::vector<ir::ValueId>& reads,
                const std::vector<ir::ValueId>& writes);
  // Chooses the nodes that one kernel computes together with their neighbors.
  void fuse_nodes();
  bool fuse_node(size_t node_index);
  [[nodiscard]] std::vector<size_t> tail_of(size_t node_index) const;
  [[nodiscard]] std::vector<size_t> front_of(size_t node_index) const;
  // Elementwise operators of fp32 with those that only they need.
  void fuse_elementwise();
  void fuse_chain(const std::vector<size_t>& nodes);
  [[nodiscard]] bool is_elementwise(size_t node_index) const;
  [[nodiscard]] std::vector<size_t> chain_of(size_t node_index) const;
  // Moves of what moves give, without what stands between them.
  void fuse_layout_ops();
  void find_layout_views();
  [[nodiscard]] bool is_only_viewed(ir::ValueId value) const;
  // RESHAPE and IDENTITY: their input's bytes under another shape.
  void share_bytes(ir::ValueId from, ir::ValueId to);
  void allocate_outputs();
  void number_uses();
  // Results that may stand where their operands stand, if nobody reads these later: less memory to go through.
  void reuse_operands();
  Result<void> allocate_rest();
  // Constants of which kernels have their own copies.
  void drop_packed();

  [[nodiscard]] Operand operand(ir::ValueId value) const;
  [[nodiscard]] std::string where_of(const ir::Node& node) const;
  [[nodiscard]] NodePlan node_plan(const ir::Node& node) const;
  [[nodiscard]] bool copies_nothing(const ir::Node& node) const;
  [[nodiscard]] size_t root(size_t value) const {
    while (roots_[value] != value) value = roots_[value];
    return value;
  }

  const ir::Graph& graph_;
  const Options& options_;
  Linker& linker_;
  std::unique_ptr<Program> program_;
  struct Fused {
    Kernel kernel;
    std::vector<ir::ValueId> reads;
    std::vector<ir::ValueId> writes;
    std::vector<ir::NodeId> others;  // nodes that it computes too, in order
    bool in_place = false;           // the result may stand where an operand of its shape stands
  };
  std::map<size_t, Fused> fused_;  // by node
  struct LayoutView {
    ir::ValueId source;
    StridedView view;
  };
  std::vector<std::optional<LayoutView>> views_;  // by value: what a move gives
  std::vector<std::vector<ir::NodeId>> users_;
  std::vector<ir::NodeId> producers_;
  std::vector<bool> is_seen_;      // outside of the graph: an output, or watched
  std::vector<bool> done_;         // by node: a step computes it already
  std::vector<size_t> in_place_;   // steps of kernels that may write over an operand
  std::vector<size_t> roots_;      // by value: one whose bytes it uses, itself at last
  std::vector<size_t> first_use_;  // by root: step that writes it
  std::vector<size_t> last_use_;   // by root
};

}  // namespace carina::interpret
