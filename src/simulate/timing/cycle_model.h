#pragma once

#include <array>
#include <cstdint>

#include "carina/result.h"
#include "facts/npu_targets.h"
#include "npu/cost/cost.h"
#include "simulate/decode/operation.h"
#include "simulate/interface/options.h"
#include "simulate/interface/report.h"
#include "simulate/kernels/weights.h"
#include "simulate/timing/timeline.h"

// The cycles and the traffic of one operation, from the record that the decoder made.
//   Example: a 1x1 convolution of 8x8x32 to 8x8x32 on ethos-u55-128 has 65,536 MACs. The OFM is 32 x 4 ublocks of
//   2x1x8, each of 4 cycles: 512 cycles of the MAC unit. The first read, the last write and the command unit are added.
namespace carina::simulate {

// The properties of an operation's weights that the model needs.
struct WeightFacts {
  uint64_t encoded_bytes = 0;  // all streams, padding included
  uint64_t scale_bytes = 0;
  WeightStatistics statistics{};
};

// One AXI port and the memory attached to it.
struct Port {
  MemoryKind memory = MemoryKind::kSram;
  double bytes_per_cycle = 8;
  double bursts_outstanding = 1;  // reads in flight, derated
  int burst_bytes = 32;
  int beat_bytes = 8;
  int read_latency_cycles = 0;
  int write_latency_cycles = 0;
};

// Estimates cycles after Vela's performance model (docs/cycle-model.md). npu/cost/cost.h has the formulas of each
// component; this class supplies their arguments from the registers and the memories. All cycles are cycles of the
// NPU's clock.
class CycleModel {
 public:
  // Errors: a system configuration or memory mode that does not exist or belongs to another product. The message lists
  // the valid ones.
  static Result<CycleModel> make(const npu::AcceleratorConfig& accelerator, const Options& options);

  // Fills in cycles and traffic of a kernel that runs alone. Returns the share of each port that it uses.
  PortShares estimate_kernel(const Operation& op, const WeightFacts& weights, OperationReport& report) const;
  // Fills in cycles and traffic of a transfer of `bytes`. Returns the share of each port that it uses.
  PortShares estimate_dma(const DmaTransfer& dma, uint64_t bytes, OperationReport& report) const;

  [[nodiscard]] const Port& port_of_region(int region) const;
  [[nodiscard]] double clock_hz() const { return clock_hz_; }
  [[nodiscard]] const npu::AcceleratorConfig& accelerator() const { return *accelerator_; }

 private:
  struct Geometry;
  [[nodiscard]] Geometry geometry(const Operation& op) const;
  [[nodiscard]] double mac_cycles(const Operation& op, const Geometry& g) const;
  [[nodiscard]] double output_cycles_per_element(const Operation& op) const;
  [[nodiscard]] double weight_decode_cycles(const Operation& op, const WeightFacts& weights, int64_t planes) const;
  [[nodiscard]] double u85_fetch_cycles(const Operation& op, const WeightFacts& weights, int64_t planes) const;
  [[nodiscard]] double bandwidth(const Port& port, int read_buffer_words) const;
  [[nodiscard]] double read_cycles(const Operation& op, const FeatureMap& map, const Extent& block, double bytes) const;
  [[nodiscard]] double write_cycles(const Operation& op, const Extent& block, double bytes) const;
  [[nodiscard]] double transferred(const FeatureMap& map, const Extent& block, double bytes, bool writes) const;
  [[nodiscard]] int64_t window_reads(const Operation& op, const Geometry& g) const;
  [[nodiscard]] int64_t written(const Operation& op) const;
  void estimate_blocks(const Operation& op, const Geometry& g, const WeightFacts& weights, Cycles& cycles) const;
  void estimate_elementwise(const Operation& op, const Geometry& g, Cycles& cycles) const;
  [[nodiscard]] double first_read_cycles(const Operation& op, const FeatureMap& map, const Extent& block) const;
  template <typename Add>
  void add_operands(const Operation& op, const Geometry& g, const Add& add) const;
  // Fills in the cycles for which each memory's port is busy.
  PortShares estimate_access(const Operation& op, const Geometry& g, const WeightFacts& weights,
                             OperationReport& report) const;

  const npu::AcceleratorConfig* accelerator_ = nullptr;
  npu::MemoryMode mode_{};
  std::array<Port, 2> ports_{};
  double clock_hz_ = 0;
  npu::CostDetail detail_ = npu::kTimeLineCost;
};

}  // namespace carina::simulate
