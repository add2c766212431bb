#pragma once

#include <cstdint>

#include "facts/npu_performance.h"
#include "facts/npu_targets.h"

// What one operation costs, by its parts: the formulas that the planner's search and the simulator's time line both
// call, after Vela's performance model (docs/cycle-model.md). The numbers in them stand in facts/npu_performance.h. All
// cycles are of the NPU's clock; all of them are estimates.
namespace carina::npu {

// Parts that the two callers do not count alike. The time line counts everything; the search leaves out what its choices
// did not need. Making them one changes what the planner chooses: docs/plan.md, "One cost".
struct CostDetail {
  bool accumulator_delay;  // blocks of one ublock wait for their own accumulators
  bool copies_by_width;    // pools of one element cost one step per byte, not four
  bool ends_and_commands;  // the first read, the last write and the command unit
};
inline constexpr CostDetail kTimeLineCost{
    .accumulator_delay = true, .copies_by_width = true, .ends_and_commands = true};
inline constexpr CostDetail kSearchCost{
    .accumulator_delay = false, .copies_by_width = false, .ends_and_commands = false};

// ---- The IFM block ----

// The most input channels that U55 and U65 read together in an operation that sums over them, which is also the order
// of its weights.
constexpr int ifm_block_depth_limit(int ifm_bits, WeightOrder order) {
  if (ifm_bits == 16) return kIfmBlockDepth16Bit;
  return order == WeightOrder::PART_KERNEL_FIRST ? kIfmBlockDepthPartKernel : kIfmBlockDepth8Bit;
}

// The same for an IFM that may be shallower: as many channels as are read, in granules of the input buffer.
struct IfmDepth {
  int64_t ifm_depth;
  int ifm_bits;
  WeightOrder order;
  int granule;  // the depth of the IFM ublock; 16 bits have their own
};
int clipped_ifm_block_depth(const IfmDepth& what);

// What the model of U85 takes for it. The order of the weights (npu/weight_order.h) has 32 channels on small parts and
// 128 where weights are sparse, and pads to them; that the model does not is the hole of docs/plan.md, "One cost".
constexpr int u85_modelled_ifm_block_depth(int ifm_bits, WeightOrder order) {
  if (order == WeightOrder::PART_KERNEL_FIRST) return 16;
  return ifm_bits == 32 ? 32 : 64;
}

// ---- The MAC unit ----

enum class MacKind : uint8_t { kDepthFirst, kPartKernel, kDepthwise, kPool };  // REDUCE_SUM: kDepthFirst
constexpr bool sums_over_depth(MacKind kind) {
  return kind == MacKind::kDepthFirst || kind == MacKind::kPartKernel;
}

// One OFM block; blocks are clipped to the tensors.
struct MacWork {
  const AcceleratorConfig& npu;
  MacKind kind = MacKind::kDepthFirst;
  int ifm_bits = 8;
  int acc_bits = 32;
  int64_t kernel_height = 1;  // taps
  int64_t kernel_width = 1;
  int sub_kernel = kSubkernelSize;
  int64_t ublocks_xy = 1;  // in the block
  int64_t ublocks_z = 1;
  int ublock_depth = 8;
  bool is_one_ublock_wide_or_high = false;
  int64_t ifm_block_depth = 1;
  int64_t ifm_depth = 1;
  int weight_streams = 1;  // U85
  bool sparse_weights = false;
  int cores = 1;  // that share the channels
};
double mac_cycles(const MacWork& work, const CostDetail& detail);

// ---- The output unit ----

struct OutputWork {
  const AcceleratorConfig& npu;
  enum class Kind : uint8_t { kOther, kMaxPool, kUnary, kMul, kAddSub, kDiv, kBinary } kind = Kind::kOther;
  int ifm_bits = 8;
  int ofm_bits = 8;
  int acc_bits = 32;
  ActivationKind activation = ActivationKind::kNone;
  bool is_chained = false;     // U85: writes a chaining buffer
  bool is_rearranged = false;  // U85: transposed in height and width, or reversed in width
  int cores = 1;
};
// Of one OFM element.
double output_cycles_per_element(const OutputWork& work);

// ---- Blocks one after the other ----

struct PipelineWork {
  double mac_cycles = 0;     // of a block
  double output_cycles = 0;  // of a block
  double blocks = 1;         // may be a fraction
  double first_read_cycles = 0;
  double last_write_cycles = 0;
};
// MAC and output unit work on different blocks at a time.
double pipeline_cycles(const PipelineWork& work, const CostDetail& detail);
// The same without a MAC stage: operands in, output unit, result out.
double elementwise_cycles(const PipelineWork& work, const CostDetail& detail);

// ---- Memory ----

// Bytes that a port moves in a cycle of the NPU's clock.
double port_bytes_per_cycle(Product product, const MemoryPort& port);

// What one channel of U85 gets of it: its read buffer holds so much while the memory answers.
struct ChannelWork {
  double port_bytes_per_cycle;
  int burst_bytes;
  double bursts_outstanding;
  int read_latency_cycles;
  int read_buffer_words;
};
double u85_channel_bytes_per_cycle(const ChannelWork& channel);

// Bytes on the bus for useful ones that come in runs of `run_bytes`: short runs waste the rest of a burst.
struct BusWork {
  double bytes;
  double run_bytes;
  int burst_bytes;
  int beat_bytes;
};
double bus_bytes(const BusWork& work);

// From the request to the last byte.
constexpr double access_cycles(double bytes, double bytes_per_cycle, double latency_cycles) {
  return bytes / bytes_per_cycle + latency_cycles;
}

// Weights that the decoders give in a cycle, all of them together.
struct DecodeWork {
  const AcceleratorConfig& npu;
  double zero_rate = 0;
  size_t distinct_values = 0;
  bool fast = false;  // U85's second format
  int cores = 1;
};
double weights_per_cycle(const DecodeWork& work);

}  // namespace carina::npu
