#pragma once

#include <cstdint>
#include <span>

#include "facts/npu_performance.h"
#include "facts/npu_targets.h"

// The cost of one operation, by components. The planner's search and the simulator's time line both call these
// formulas, which follow Vela's performance model (docs/cycle-model.md). Their constants are in
// facts/npu_performance.h. All cycles are cycles of the NPU's clock, and all are estimates.
namespace carina::npu {

// Components that the two callers count differently. The time line counts everything. The search leaves out components
// that did not affect its choices. Equal values would change what the planner chooses: docs/plan.md, "One cost".
struct CostDetail {
  bool accumulator_delay;  // blocks of one ublock wait for their own accumulators
  bool copies_by_width;    // pools of one element take one step per byte, not four
  bool ends_and_commands;  // the first read, the last write and the command unit
  bool decoders_in_macs;   // U85: the MAC unit waits for its weights; otherwise decoding is counted beside it
  // Assumptions that docs/against-vela-models.md varies.
  int elementwise_channels = kElementwiseChannels;
  double ends_factor = 1;  // of the first read and the last write
};
inline constexpr CostDetail kTimeLineCost{
    .accumulator_delay = true, .copies_by_width = true, .ends_and_commands = true, .decoders_in_macs = false};
inline constexpr CostDetail kSearchCost{
    .accumulator_delay = false, .copies_by_width = false, .ends_and_commands = false, .decoders_in_macs = true};

// ---- The IFM block ----

// The most input channels that U55 and U65 read together in an operation that sums over channels. It also decides the
// order of the operation's weights.
constexpr int ifm_block_depth_limit(int ifm_bits, WeightOrder order) {
  if (ifm_bits == 16) return kIfmBlockDepth16Bit;
  return order == WeightOrder::PART_KERNEL_FIRST ? kIfmBlockDepthPartKernel : kIfmBlockDepth8Bit;
}

// The same limit for an IFM that may be shallower: the number of channels that are read, rounded up to granules of the
// input buffer.
struct IfmDepth {
  int64_t ifm_depth;
  int ifm_bits;
  WeightOrder order;
  int granule;  // depth of the IFM ublock; 16 bits have their own
};
int clipped_ifm_block_depth(const IfmDepth& what);

// The IFM block depth of U85. The order of weights pads the channels to this depth with zeros, which are multiplied
// like weights.
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

// The number of taps to a multiple of which U85 pads the kernel in the part-kernel order.
constexpr int u85_part_kernel_tap_group(int ifm_bits, bool sparse_weights) {
  return ifm_bits == 16 || sparse_weights ? kU85PartKernelTapGroupWide : kU85PartKernelTapGroup;
}

// ---- The MAC unit ----

enum class MacKind : uint8_t { kDepthFirst, kPartKernel, kReduceSum, kDepthwise, kPool };
constexpr bool sums_over_depth(MacKind kind) {
  return kind == MacKind::kDepthFirst || kind == MacKind::kPartKernel || kind == MacKind::kReduceSum;
}

// The MAC work of one OFM block. Blocks are clipped to the tensors.
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
  bool is_rearranged = false;  // U85: height and width transposed, or width reversed
  int cores = 1;
};
// The cycles of the output unit for one OFM element.
double output_cycles_per_element(const OutputWork& work);

// The channels that an elementwise operation processes for `depth` channels of a block. The output unit takes whole
// steps, which are smaller than a brick.
struct ElementwiseDepth {
  bool bricks;  // NHCWB16 output
  int64_t depth;
  int64_t ublock_depth;
};
int64_t elementwise_depth(const ElementwiseDepth& what, const CostDetail& detail);

// ---- Blocks one after the other ----

struct PipelineWork {
  double mac_cycles = 0;     // of one block
  double output_cycles = 0;  // of one block
  double blocks = 1;         // may be a fraction
  double first_read_cycles = 0;
  double last_write_cycles = 0;
};
// The cycles of an operation with MACs. The MAC unit and the output unit work on different blocks at the same time.
double pipeline_cycles(const PipelineWork& work, const CostDetail& detail);
// The cycles of an operation without MACs: read the operands, run the output unit, write the result.
double elementwise_cycles(const PipelineWork& work, const CostDetail& detail);

// ---- Memory ----

// Bytes that a port moves in one cycle of the NPU's clock.
double port_bytes_per_cycle(Product product, const MemoryPort& port);

// The bandwidth of one channel of U85. Its read buffer limits the bytes in flight during the memory's latency.
struct ChannelWork {
  double port_bytes_per_cycle;
  int burst_bytes;
  double bursts_outstanding;
  int read_latency_cycles;
  int read_buffer_words;
};
double u85_channel_bytes_per_cycle(const ChannelWork& channel);
// Bytes per cycle at which a feature map is read through a port.
double map_read_bytes_per_cycle(const AcceleratorConfig& npu, const MemoryPort& port);

// The bytes on the bus for useful bytes in runs of `run_bytes`. A short run wastes the rest of a burst.
struct BusWork {
  double bytes;
  double run_bytes;
  int burst_bytes;
  int beat_bytes;
};
double bus_bytes(const BusWork& work);

// The cycles from the request to the last byte.
constexpr double access_cycles(double bytes, double bytes_per_cycle, double latency_cycles) {
  return bytes / bytes_per_cycle + latency_cycles;
}

// A kernel and a transfer that run at the same time: the share of a port that each uses at its full speed, and the
// fraction of that speed at which both run. If they use more than the whole port together, they share it: each gets its
// own share up to one half, and whatever the other leaves.
//   Example: shares of 0.8 and 0.4. The second keeps its 0.4; the first gets 0.6 instead of 0.8.
struct PortDemand {
  double kernel = 0;
  double transfer = 0;
};
struct Progress {
  double kernel = 1;
  double transfer = 1;
};
Progress concurrent_progress(std::span<const PortDemand> ports);

// Weights per cycle of all decoders together.
struct DecodeWork {
  const AcceleratorConfig& npu;
  double zero_rate = 0;
  size_t distinct_values = 0;
  bool fast = false;  // U85's second format
  int cores = 1;
};
double weights_per_cycle(const DecodeWork& work);

// The cycles of an operation of U85 that waits for its decoders, which work for `busy_cycles` of them.
constexpr double u85_decoding_cycles(double busy_cycles) {
  return busy_cycles / kU85DecoderUtilization;
}

}  // namespace carina::npu
