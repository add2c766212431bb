#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "interpret/arena_internal.h"
#include "interpret/ops/strided_view_internal.h"
#include "interpret/program_internal.h"

namespace carina::interpret {

// Makes a Program from a graph. The methods below run in their order.
class Planner {
 public:
  Planner(const ir::Graph& graph, const Options& options, const Watch* watch, Linker& linker)
      : graph_(graph), options_(options), linker_(linker), program_(new Program(graph, options, watch)) {}

  Result<std::unique_ptr<Program>> plan();

 private:
  struct Fused {
    Kernel kernel;
    std::vector<ir::ValueId> reads;
    std::vector<ir::ValueId> writes;
    std::vector<ir::NodeId> others;  // further nodes that it computes and no other step, in order
    bool in_place = false;           // the result may overwrite an operand of its shape
    std::vector<size_t> front = {};  // RESCALE nodes of its operands that it computes
  };

  Result<void> check_graph();  // ids, one producer before its users, known shapes, sizes within the budget
  Result<void> check_value(size_t index) const;
  void take_constants();
  Result<void> make_steps();
  Result<void> make_step(size_t node_index);
  void add_step(size_t node_index, Kernel kernel, const std::vector<ir::ValueId>& reads,
                const std::vector<ir::ValueId>& writes);
  // Chooses the nodes that are fused with their neighbors.
  void fuse_nodes();
  void fuse_node(size_t node_index);
  [[nodiscard]] std::optional<Fused> fuse_neighbors(size_t node_index, std::span<const size_t> tail) const;
  [[nodiscard]] std::vector<size_t> tail_of(size_t node_index) const;
  [[nodiscard]] std::vector<size_t> front_of(size_t node_index) const;
  [[nodiscard]] bool is_shared(ir::ValueId value, size_t user) const;
  // Fuses DEPTHWISE_CONV2D of one tap with the TRANSPOSE before and after it.
  void fuse_channels();
  [[nodiscard]] std::optional<Fused> fuse_channels_of(size_t node_index) const;
  [[nodiscard]] std::optional<size_t> only_user_of(ir::ValueId value) const;
  // Fuses fp32 elementwise operators with operands that have no other reader.
  void fuse_elementwise();
  void fuse_chain(const std::vector<size_t>& nodes);
  [[nodiscard]] bool is_elementwise(size_t node_index) const;
  [[nodiscard]] std::vector<size_t> chain_of(size_t node_index) const;
  // Fuses chains of data-movement operators, without the tensors between them.
  void fuse_layout_ops();
  void find_layout_views();
  [[nodiscard]] bool is_only_viewed(ir::ValueId value) const;
  // RESHAPE and IDENTITY: the result shares the bytes of the input.
  void share_bytes(ir::ValueId from, ir::ValueId to);
  void allocate_outputs();
  void number_uses();
  // Lets results overwrite their operands if no later step reads these. This reduces the memory traffic.
  void reuse_operands();
  Result<void> allocate_rest();
  // Drops constants of which kernels hold their own copies.
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
  std::map<size_t, Fused> fused_;  // by node
  struct LayoutView {
    ir::ValueId source;
    StridedView view;
  };
  std::vector<std::optional<LayoutView>> views_;  // by value: the result of a data movement as a view
  std::vector<std::vector<ir::NodeId>> users_;
  std::vector<ir::NodeId> producers_;
  std::vector<bool> is_seen_;      // visible outside of the graph: an output, or watched
  std::vector<bool> done_;         // by node: an earlier step computes it
  std::vector<bool> has_front_;    // by node: its kernel computes the RESCALE of its operands
  std::vector<size_t> in_place_;   // steps of kernels that may overwrite an operand
  std::vector<size_t> roots_;      // by value: the value whose bytes it shares; a root refers to itself
  std::vector<size_t> first_use_;  // by root: step that writes it
  std::vector<size_t> last_use_;   // by root
};

}  // namespace carina::interpret
