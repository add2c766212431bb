#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "npu/cost/channel.h"
#include "npu/cost/cost.h"
#include "plan/family/context.h"
#include "plan/family/family.h"
#include "plan/schedule/schedule.h"

// The cycles of one operation that runs alone. KernelCost counts everything that the simulator's time line counts
// (docs/plan.md, "One cost"). All values are estimates in cycles of the NPU's clock.
namespace carina::plan {

// The encoded weights and scales that an operation reads, and the space that it reads them from.
struct Feed {
  double weight_bytes = 0;
  double scale_bytes = 0;
  double zero_rate = 0;
  Space weights_from = Space::kConstants;
  Space scales_from = Space::kConstants;
};

// The Feed that a subop is expected to have once its weights are encoded in the order of a block.
Feed expected_feed(const Step& subop, const BlockConfig& block, const Context& context);
// The same for a convolution with such weights.
Feed expected_feed(const Step& subop, const BlockConfig& block, const Family& family, const Target& target,
                   const WeightFacts& facts);

struct KernelCycles {
  double total = 0;
  double multiplying = 0;                // of these, by the blocks alone: without ports and the decoding of weights
  std::array<double, 2> port_busy = {};  // by port of the system configuration: cycles for which the port is busy
};

class KernelCost {
 public:
  // The schedule gives the layout and the space of each tensor. The first three arguments must outlive this object.
  KernelCost(const Schedule& schedule, const Family& family, const Target& target,
             const npu::CostDetail& detail = npu::kTimeLineCost);

  // Computes the cycles of a subop, which is what subop_of() returns. The subop is not a transfer. If they exceed
  // `max_cycles`, `total` may be infinite.
  [[nodiscard]] KernelCycles of(const Step& subop, const BlockConfig& block, const Feed& feed,
                                double max_cycles = std::numeric_limits<double>::infinity()) const;
  // Computes the cycles of a copy between two spaces. kTables is the NPU's own memory.
  [[nodiscard]] double transfer(int64_t bytes, Space from, Space to) const;
  [[nodiscard]] size_t port_of(Space space) const;

 private:
  friend class OperationCost;
  // Bytes per cycle of a port, and of its channels.
  struct Speed {
    double port = 1;
    std::array<double, 5> channels = {};
  };
  [[nodiscard]] double speed(size_t port, npu::ReadChannel channel) const {
    return speeds_[port].channels[static_cast<size_t>(channel)];
  }

  const Schedule& schedule_;
  const Family& family_;
  const Target& target_;
  npu::CostDetail detail_;
  std::array<size_t, kSpaces> ports_ = {};
  std::array<Speed, 2> speeds_ = {};
};

// The cost of one subop in many blocks. What does not depend on the block, or only on its order of weights, is computed
// once. It is faster if blocks of the same order, depth and height follow each other.
class OperationCost {
 public:
  // Both arguments must outlive this object.
  OperationCost(const KernelCost& cost, const Step& subop);
  // As KernelCost::of().
  [[nodiscard]] KernelCycles of(const BlockConfig& block, const Feed& feed,
                                double max_cycles = std::numeric_limits<double>::infinity());

 private:
  struct Geometry;
  struct PortLoad;
  // The bus traffic of a feature map.
  struct Operand {
    const FeatureMap* map = nullptr;
    bool bricks = false;
    bool chained = false;
    size_t port = 0;
    double element_bytes = 1;
  };
  // What depends on the order of weights.
  struct Order {
    BlockConfig key = {.depth = -1};  // no block's
    npu::MacKind mac = npu::MacKind::kDepthFirst;
    npu::Block3 ublock = {};
    int ifm_depth = 1;   // channels that the input buffer holds, if the operation sums over them
    double weights = 0;  // that are decoded, padding included
  };
  [[nodiscard]] Operand operand(const FeatureMap& map) const;
  [[nodiscard]] const Order& order_of(const BlockConfig& block);
  [[nodiscard]] Geometry geometry(const BlockConfig& block, const Order& order) const;
  [[nodiscard]] double bus_bytes(const Operand& map, int64_t stride_x, const npu::Block3& block, double bytes,
                                 bool writes) const;
  [[nodiscard]] double write_cycles(const npu::Block3& block, double bytes) const;
  [[nodiscard]] double first_read(const Operand& map, const npu::Block3& block) const;
  [[nodiscard]] double last_write(const npu::Block3& block) const;
  [[nodiscard]] double elementwise_reads(const Operand& map, const Broadcast& repeated, const Geometry& g) const;
  [[nodiscard]] int64_t plane_reads(const npu::Block3& block);
  [[nodiscard]] double block_cycles(const BlockConfig& block, const Geometry& g, const Order& order,
                                    const Feed& feed) const;
  [[nodiscard]] double elementwise_cycles(const Geometry& g, const Order& order) const;
  void add_maps(const Geometry& g, const Order& order, PortLoad& load);
  void add_feed(const Geometry& g, const BlockConfig& block, const Feed& feed, PortLoad& load) const;

  const KernelCost& cost_;
  const Step& op_;
  const npu::AcceleratorConfig& npu_;
  bool has_no_macs_;
  Operand ofm_, ifm_, ifm2_;
  double output_cycles_;  // of one element
  Order order_;           // of the last block
  int height_ = 0;        // of the last block
  int64_t row_reads_ = 0;
  std::vector<int64_t> column_reads_;  // by width of blocks; 0: not known
};

// The spaces of a step's feature maps; ifm2 is in that of ifm.
struct MapSpaces {
  Space ofm = Space::kArena;
  Space ifm = Space::kArena;
};

// The cycles of a step in its cheapest block. Its feature maps have their channels last. Weights such as `weights` and
// their scales were copied to the working space before. Selection compares forms of one operator by it.
double cheapest_cycles(Step step, const Family& family, const Target& target, const MapSpaces& spaces,
                       const std::optional<WeightFacts>& weights);
// The same with feature maps in the working space, scales among the constants, and weights that take no time.
double cheapest_cycles(Step step, const Family& family, const Target& target);

}  // namespace carina::plan
