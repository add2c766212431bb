#pragma once

#include <array>
#include <cstdint>
#include <limits>

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

struct KernelCycles {
  double total = 0;
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
  struct Geometry;
  struct Operand;
  [[nodiscard]] Geometry geometry(const Step& subop, const BlockConfig& block) const;
  [[nodiscard]] Operand operand(const FeatureMap& map) const;
  [[nodiscard]] double bus_bytes(const Operand& map, const npu::Block3& block, double bytes, bool writes) const;
  [[nodiscard]] double read_cycles(const Operand& map, const npu::Block3& block, double bytes) const;
  [[nodiscard]] double write_cycles(const Operand& map, const npu::Block3& block, double bytes) const;
  [[nodiscard]] double first_read(const Operand& map, const npu::Block3& block) const;
  [[nodiscard]] double last_write(const Operand& map, const npu::Block3& block) const;
  [[nodiscard]] double elementwise_reads(const Step& subop, const FeatureMap& map, const Broadcast& repeated,
                                         const Geometry& g) const;
  [[nodiscard]] double block_cycles(const Step& subop, const BlockConfig& block, const Geometry& g,
                                    const Feed& feed) const;
  [[nodiscard]] double elementwise_cycles(const Step& subop, const Geometry& g) const;
  struct PortLoad;
  void add_maps(const Step& subop, const Geometry& g, PortLoad& load) const;
  void add_feed(const Geometry& g, const BlockConfig& block, const Feed& feed, PortLoad& load) const;

  const Schedule& schedule_;
  const Family& family_;
  const Target& target_;
  npu::CostDetail detail_;
  std::array<size_t, kSpaces> ports_ = {};
};

// The cycles of a step in its cheapest block. Its feature maps are in the working space with their channels last, and
// its scales among the constants; its weights take no time. Selection compares forms of one operator by it.
double cheapest_cycles(Step step, const Family& family, const Target& target);

}  // namespace carina::plan
