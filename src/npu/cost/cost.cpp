#include "npu/cost/cost.h"

#include <algorithm>
#include <cmath>

#include "base/checked_math.h"
#include "carina/check.h"

// Source: npu_performance.py of ethos-u-vela 5.2.0; U85 after the public mirror of regor.
namespace carina::npu {

int clipped_ifm_block_depth(const IfmDepth& what) {
  const int limit = ifm_block_depth_limit(what.ifm_bits, what.order);
  const int granule = what.ifm_bits == 16 ? kIfmBlockDepthGranule16Bit : what.granule;
  return round_up(static_cast<int>(std::min<int64_t>(what.ifm_depth, limit)), granule);
}

// ---- The MAC unit ----

namespace {

constexpr int kChannelsPerStep = 8;  // number of channels that a MAC unit multiplies in one step

// U85's depth-first order pads the channels of a block with zeros, which are multiplied too.
int64_t ifm_block_depth_of(const MacWork& w) {
  if (!is_u85(w.npu.product) || w.kind != MacKind::kDepthFirst) return w.ifm_block_depth;
  return u85_ifm_block_depth({.npu = w.npu,
                              .order = WeightOrder::DEPTH_FIRST,
                              .ifm_bits = w.ifm_bits,
                              .ublock_depth = w.ublock_depth,
                              .sparse_weights = w.sparse_weights});
}

// Cycles to decode the weights of one ublock.
double decode_cycles(const MacWork& w) {
  const double all =
      static_cast<double>(kWeightDecodeElemsPerOfmUblockChannel) * w.ublock_depth / kWeightDecodeElemsPerCycle;
  return is_u85(w.npu.product) ? all / w.weight_streams : all;
}

double pool_factor(const MacWork& w, int64_t kernel_taps, const CostDetail& detail) {
  if (w.npu.macs_per_cycle == 32) return 1;
  return detail.copies_by_width && kernel_taps == 1 ? w.ifm_bits / 8 : w.ifm_bits / 2;
}

int delay_cycles(const MacWork& w, bool smallest) {
  const bool wide = w.acc_bits > 32;
  if (smallest) return wide ? kU55_32PipelineDelayAcc40Cycles : kU55_32PipelineDelayCycles;
  return wide && w.npu.macs_per_cycle <= 128 ? kPipelineDelayAcc40Cycles : kPipelineDelayCycles;
}

// The stall of a block whose width and height are one ublock: each of the `steps` waits for the accumulators of the
// previous one.
double accumulator_delay(const MacWork& w, int64_t steps) {
  const bool smallest = w.npu.product == Product::kU55 && w.npu.macs_per_cycle == 32;
  const int delay = delay_cycles(w, smallest);
  double cycles = 0;
  if (w.ublocks_xy == 1)
    cycles = static_cast<double>(w.ublocks_z == 1 ? delay * steps : delay * (steps - 1) * w.ublocks_z);
  if (smallest && w.acc_bits > 32 && w.ublocks_z > 1 && w.is_one_ublock_wide_or_high)
    cycles += static_cast<double>(delay * w.ublocks_z);
  if (w.kind == MacKind::kPartKernel)
    cycles *= static_cast<double>(ceil_div<int64_t>(w.ifm_block_depth, kChannelsPerStep));
  return cycles;
}

struct SubKernel {
  double cycles;
  int64_t steps;  // each with one delay
};

// The order pads the taps with zeros to a multiple. The decoder decodes all of them, but the MAC unit skips part of the
// padding.
SubKernel u85_part_kernel(const MacWork& w, int64_t taps, const CostDetail& detail) {
  const U85PartKernelTaps rule = w.sparse_weights ? kU85PartKernelTapsSparse : kU85PartKernelTaps;
  const int64_t rest = taps % rule.together;
  const int64_t multiplied = taps - rest + (rest == 0 ? 0 : std::max<int64_t>(rest, rule.at_least));
  const int64_t decoded = round_up<int64_t>(taps, u85_part_kernel_tap_group(w.ifm_bits, w.sparse_weights));
  const double mac = static_cast<double>(multiplied * w.ublocks_xy) * w.ifm_bits / 8 * (w.sparse_weights ? 0.5 : 1.0);
  const double padding = 1 - static_cast<double>(taps) / static_cast<double>(decoded);
  const double decode = static_cast<double>(decoded * kChannelsPerStep * w.ublock_depth) /
                        weights_per_cycle({.npu = w.npu, .zero_rate = padding});
  const int64_t channel_steps = ceil_div<int64_t>(w.ifm_block_depth, kChannelsPerStep);
  return {.cycles = (detail.decoders_in_macs ? std::max(decode, mac) : mac) *
                    static_cast<double>(channel_steps * w.ublocks_z),
          .steps = ceil_div<int64_t>(taps, rule.together)};
}

SubKernel sub_kernel(const MacWork& w, int64_t taps, const CostDetail& detail) {
  const auto xy = static_cast<double>(w.ublocks_xy), z = static_cast<double>(w.ublocks_z);
  const double decode = decode_cycles(w), sparse = w.sparse_weights ? 0.5 : 1.0;
  if (is_u85(w.npu.product) && w.kind == MacKind::kPartKernel) return u85_part_kernel(w, taps, detail);
  const bool u85 = is_u85(w.npu.product);
  const int64_t channel_steps = ceil_div<int64_t>(ifm_block_depth_of(w), kChannelsPerStep);
  switch (w.kind) {
    case MacKind::kPool:
      return {.cycles = static_cast<double>(std::max<int64_t>(kMacCyclesPerUblock, taps)) * xy * z *
                        pool_factor(w, w.kernel_height * w.kernel_width, detail),
              .steps = 1};
    case MacKind::kDepthwise: {
      const int64_t steps = ceil_div<int64_t>(taps, kDepthwiseTapsPerStep);
      return {.cycles = std::max(decode, kMacCyclesPerUblock * xy * w.ifm_bits / 8) * static_cast<double>(steps) * z,
              .steps = steps};
    }
    case MacKind::kDepthFirst:
    case MacKind::kReduceSum: {
      const double per_tap = u85 ? static_cast<double>(channel_steps) * xy : kMacCyclesPerUblock * xy;
      const bool waits = !u85 || detail.decoders_in_macs;
      return {.cycles = (waits ? std::max(decode, per_tap) : per_tap) * static_cast<double>(taps) * z *
                        (u85 ? w.ifm_bits / 8.0 : 1.0) * sparse,
              .steps = taps};
    }
    case MacKind::kPartKernel: {
      const int64_t steps =
          ceil_div<int64_t>(taps, w.ifm_bits == 16 ? kPartKernelTapsPerStep16Bit : kPartKernelTapsPerStep8Bit);
      return {.cycles =
                  std::max(decode, kMacCyclesPerUblock * xy) * static_cast<double>(steps * channel_steps) * z * sparse,
              .steps = steps};
    }
  }
  CARINA_UNREACHABLE("kind", w.kind);
}

}  // namespace

double mac_cycles(const MacWork& w, const CostDetail& detail) {
  double cycles = 0;
  for (int64_t y = 0; y < w.kernel_height; y += w.sub_kernel) {
    for (int64_t x = 0; x < w.kernel_width; x += w.sub_kernel) {
      const int64_t taps =
          std::min<int64_t>(w.sub_kernel, w.kernel_height - y) * std::min<int64_t>(w.sub_kernel, w.kernel_width - x);
      const SubKernel part = sub_kernel(w, taps, detail);
      cycles += part.cycles;
      if (detail.accumulator_delay) cycles += accumulator_delay(w, part.steps);
    }
  }
  if (sums_over_depth(w.kind))
    cycles *= static_cast<double>(ceil_div(w.ifm_depth, std::max<int64_t>(1, ifm_block_depth_of(w))));
  return cycles / w.cores;
}

// ---- The output unit ----

namespace {

OutputKind output_kind(const OutputWork& w) {
  using Kind = OutputWork::Kind;
  using enum OutputKind;
  const bool elementwise = w.kind != Kind::kOther && w.kind != Kind::kMaxPool;
  if (elementwise && w.ifm_bits == 32) return w.kind == Kind::kUnary ? kUnary32 : kBinary32;
  if (w.kind == Kind::kMul) return w.ofm_bits == 32 ? kMulTo32 : kMulOrAcc40;
  if (w.kind == Kind::kAddSub) return kAdvancedAdd;
  if (elementwise) return kOther;
  if (w.acc_bits == 40) return kMulOrAcc40;
  return w.kind == Kind::kMaxPool ? kMaxPool : kOther;
}

U85OutputKind u85_output_kind(const OutputWork& w) {
  using Kind = OutputWork::Kind;
  using enum U85OutputKind;
  const bool binary = w.kind == Kind::kMul || w.kind == Kind::kAddSub || w.kind == Kind::kBinary;
  if (binary && w.ifm_bits == 32) return w.ofm_bits < 32 || w.is_chained ? kBinary32Narrow : kBinary32Wide;
  switch (w.ofm_bits) {
    case 8:
      return kOfm8;
    case 16:
      return kOfm16;
    case 32:
      return kOfm32;
    default:
      return kOfm64;
  }
}

double u85_output_cycles(const OutputWork& w) {
  if (w.kind == OutputWork::Kind::kDiv) return kU85DivCyclesPerElem;
  const U85OutputCycles* row = find_u85_output_cycles(w.npu.macs_per_cycle);
  CARINA_CHECK(row != nullptr, "no output cycles for {}", w.npu.name);
  return std::max(row->output_cycles_per_elem[static_cast<size_t>(u85_output_kind(w))],
                  row->activation_cycles_per_elem[w.is_rearranged ? 1 : 0]);
}

}  // namespace

double output_cycles_per_element(const OutputWork& w) {
  if (is_u85(w.npu.product)) return u85_output_cycles(w);
  const OutputCycles* row = find_output_cycles(w.npu.name);
  CARINA_CHECK(row != nullptr, "no output cycles for {}", w.npu.name);
  return std::max(row->output_cycles_per_elem[static_cast<size_t>(output_kind(w))],
                  row->activation_cycles_per_elem[static_cast<size_t>(w.activation)]) /
         w.cores;
}

int64_t elementwise_depth(const ElementwiseDepth& what, const CostDetail& detail) {
  if (!what.bricks) return what.depth;
  const int64_t step =
      std::clamp<int64_t>(what.ublock_depth, std::min(detail.elementwise_channels, kBrickDepth), kBrickDepth);
  return round_up(what.depth, step);
}

// ---- Blocks one after the other ----

double pipeline_cycles(const PipelineWork& w, const CostDetail& detail) {
  const double mac = w.mac_cycles, output = w.output_cycles;
  if (!detail.ends_and_commands) return std::max(mac, output) * w.blocks + std::min(mac, output);
  const double memory = w.blocks > 1 ? std::abs(w.last_write_cycles - w.first_read_cycles) : 0;
  const double command = (memory + mac + output) / kCommandCyclesDivisor;
  const double mac_block = std::max(mac, command), output_block = std::max(output, command);
  const double body =
      mac_block > output_block ? std::floor(mac_block * w.blocks) + output_block : output_block * w.blocks + mac_block;
  return body + detail.ends_factor * (w.first_read_cycles + w.last_write_cycles);
}

double elementwise_cycles(const PipelineWork& w, const CostDetail& detail) {
  if (!detail.ends_and_commands) return w.output_cycles * w.blocks;
  const double command = (w.first_read_cycles + w.last_write_cycles + w.output_cycles) / kCommandCyclesDivisor;
  return std::ceil(std::max(command, w.output_cycles) * w.blocks +
                   detail.ends_factor * (w.first_read_cycles + w.last_write_cycles));
}

// ---- Memory ----

double port_bytes_per_cycle(Product product, const MemoryPort& port) {
  switch (product) {
    case Product::kU55:
      return kU55AxiBytesPerCycle * port.clock_scale;
    case Product::kU65:
      return kU65AxiBytesPerCycle * port.clock_scale;
    case Product::kU85:
      return kU85AxiBytesPerCyclePerPort * port.ports_used * port.clock_scale;
  }
  CARINA_UNREACHABLE("product", product);
}

double u85_channel_bytes_per_cycle(const ChannelWork& c) {
  if (c.read_latency_cycles == 0) return c.port_bytes_per_cycle;
  const double words_per_burst = static_cast<double>(c.burst_bytes) / kReadBufferWordBytes;
  const double in_flight = std::min(c.read_buffer_words / words_per_burst, c.bursts_outstanding);
  return std::min(c.port_bytes_per_cycle,
                  c.burst_bytes * in_flight / c.read_latency_cycles * kU85OutstandingEfficiency);
}

double map_read_bytes_per_cycle(const AcceleratorConfig& npu, const MemoryPort& port) {
  const double whole = port_bytes_per_cycle(npu.product, port);
  if (npu.product != Product::kU85) return whole;
  return u85_channel_bytes_per_cycle(
      {.port_bytes_per_cycle = whole,
       .burst_bytes = port.burst_bytes,
       .bursts_outstanding = port.max_reads * port.ports_used * kU85OutstandingEfficiency,
       .read_latency_cycles = port.read_latency_cycles,
       .read_buffer_words = npu.u85.read_buffer_ifm_words});
}

double bus_bytes(const BusWork& w) {
  const double run = std::clamp(w.run_bytes, 1.0, static_cast<double>(w.burst_bytes));
  // A single access occupies the bus only for its own beats.
  if (w.bytes <= run) return std::ceil(w.bytes / w.beat_bytes) * w.beat_bytes;
  return w.bytes * w.burst_bytes / run;
}

Progress concurrent_progress(std::span<const PortDemand> ports) {
  constexpr double kFairShare = 0.5;
  Progress progress;
  for (const PortDemand& port : ports) {
    if (port.kernel + port.transfer <= 1) continue;
    const double transfer = std::max(1 - port.kernel, std::min(port.transfer, kFairShare));
    progress.transfer = std::min(progress.transfer, transfer / port.transfer);
    progress.kernel = std::min(progress.kernel, (1 - transfer) / port.kernel);
  }
  return progress;
}

double weights_per_cycle(const DecodeWork& w) {
  if (!is_u85(w.npu.product)) return static_cast<double>(kWeightDecodeElemsPerCycle) * w.cores;
  constexpr size_t kFewValues = 16;
  if (w.fast)
    return w.distinct_values <= kFewValues ? kU85FastDecodeElemsPerCycleFewValues : kU85FastDecodeElemsPerCycle;
  const double zeros = std::clamp(w.zero_rate, kU85DecodeMinZeroRate, kU85DecodeMaxZeroRate);
  return (kU85DecodeBaseElemsPerCycle + (zeros - kU85DecodeMinZeroRate) * kU85DecodeZeroRateGain) *
         w.npu.weight_decoders;
}

}  // namespace carina::npu
