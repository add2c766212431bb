#pragma once

#include <cstdint>
#include <span>

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

// The same for U85. Its order of weights pads the channels to it with zeros, which are multiplied like weights.
struct U85IfmBlock {
  const AcceleratorConfig& npu;
  WeightOrder order;
  int ifm_bits;
  int ublock_depth;  // of the OFM
  bool sparse_weights;
};
constexpr int u85_ifm_block_depth(const U85IfmBlock& what) {
  if (what.order == WeightOrder::PART_KERNEL_FIRST) return kU85IfmBlockDepthPartKernel;
  const bool small = what.npu.macs_per_cycle <= 256 && what.ublock_depth == 16 && !what.sparse_weights;
  if (what.ifm_bits == 32 || small) return kU85IfmBlockDepthSmall;
  return what.sparse_weights && what.ifm_bits == 8 ? kU85IfmBlockDepthSparse : kU85IfmBlockDepth;
}

// To a multiple of so many taps it pads the kernel in the part-kernel order.
constexpr int u85_part_kernel_tap_group(int ifm_bits, bool sparse_weights) {
  return ifm_bits == 16 || sparse_weights ? kU85PartKernelTapGroupWide : kU85PartKernelTapGroup;
}

// ---- The MAC unit ----

enum class MacKind : uint8_t { kDepthFirst, kPartKernel, kReduceSum, kDepthwise, kPool };
constexpr bool sums_over_depth(MacKind kind) {
  return kind == MacKind::kDepthFirst || kind == MacKind::kPartKernel || kind == MacKind::kReduceSum;
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
  int64_t ifm_block_depth = 1;  // clipped to the IFM
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
// What reads of a feature map get of a port.
double map_read_bytes_per_cycle(const AcceleratorConfig& npu, const MemoryPort& port);

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

// A kernel and a transfer that run at the same time: what share of a port each of them wants at its own full speed, and
// at which share of that speed both go on. A port that both together want more than once is shared: each gets what it
// wants up to a half, and what the other leaves.
struct PortDemand {
  double kernel = 0;
  double transfer = 0;
};
struct Progress {
  double kernel = 1;
  double transfer = 1;
};
Progress concurrent_progress(std::span<const PortDemand> ports);

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
