// The traffic of operations over the ports, and its cycles.
#include <algorithm>
#include <array>

#include "npu/cost/cost.h"
#include "npu/cost/traffic.h"
#include "simulate/kernels/work.h"
#include "simulate/timing/cycle_work_internal.h"

namespace carina::simulate {

double CycleModel::bandwidth(const Port& port, int read_buffer_words) const {
  if (accelerator_->product != npu::Product::kU85) return port.bytes_per_cycle;
  return npu::u85_channel_bytes_per_cycle({.port_bytes_per_cycle = port.bytes_per_cycle,
                                           .burst_bytes = port.burst_bytes,
                                           .bursts_outstanding = port.bursts_outstanding,
                                           .read_latency_cycles = port.read_latency_cycles,
                                           .read_buffer_words = read_buffer_words});
}

// Bytes on the bus for `bytes` useful ones, which come in runs that depend on the format.
double CycleModel::transferred(const FeatureMap& map, const Extent& block, double bytes, bool writes) const {
  const int es = map.type.bytes;
  const int cores = writes && accelerator_->product == npu::Product::kU65 ? accelerator_->cores : 1;
  const Port& port = port_of_region(map.region);
  double burst = 0;
  if (is_bricked(map)) {
    burst = static_cast<double>(npu::kBrickDepth) * es * block.width * cores;
  } else if (map.stride_x == int64_t{block.depth} * es) {
    burst = static_cast<double>(es) * block.width * block.depth;
  } else {
    burst = static_cast<double>(es) * block.depth;
    if (writes) burst = std::min({64.0, static_cast<double>(npu::kBrickDepth) * es * cores, burst});
  }
  return npu::bus_bytes(
      {.bytes = bytes, .run_bytes = burst, .burst_bytes = port.burst_bytes, .beat_bytes = port.beat_bytes});
}

double CycleModel::read_cycles(const Operation& op, const FeatureMap& map, const Extent& block, double bytes) const {
  if (map.storage == Storage::kChained) return 0;
  return transferred(map, block, bytes, false) /
         bandwidth(port_of_region(map.region), op.u85 ? accelerator_->u85.read_buffer_ifm_words : 0);
}

double CycleModel::write_cycles(const Operation& op, const Extent& block, double bytes) const {
  if (op.ofm.storage == Storage::kChained || op.acc_output == AccOutput::kKeep) return 0;
  return transferred(op.ofm, stored_extent(op, block), bytes, true) / port_of_region(op.ofm.region).bytes_per_cycle;
}

// The bytes of all beats that write the OFM.
int64_t CycleModel::written(const Operation& op) const {
  const Extent stored = stored_extent(op);
  return npu::written_bytes({.bricks = is_bricked(op.ofm),
                             .height = stored.height,
                             .width = stored.width,
                             .depth = stored.depth,
                             .element_bytes = op.ofm.type.bytes,
                             .address = static_cast<int64_t>(op.ofm.base[0] & 15),
                             .stride_y = op.ofm.stride_y,
                             .stride_x = op.ofm.stride_x,
                             .beat_bytes = port_of_region(op.ofm.region).beat_bytes});
}

// The cycles for which the decoders work. `planes`: blocks in the plane of the OFM, for each of which all weights are
// decoded again.
double CycleModel::weight_decode_cycles(const Operation& op, const WeightFacts& weights, int64_t planes) const {
  if (weights.encoded_bytes == 0) return 0;
  const auto values = static_cast<double>(weights.statistics.values);
  const double rate = npu::weights_per_cycle({.npu = *accelerator_,
                                              .zero_rate = weights.statistics.zero_rate,
                                              .distinct_values = weights.statistics.distinct_values,
                                              .fast = op.fast_weights,
                                              .cores = op.cores});
  return values * static_cast<double>(planes) / rate;
}

// The cycles in which U85 fetches all weights, once per block in the plane of the OFM.
double CycleModel::u85_fetch_cycles(const Operation& op, const WeightFacts& weights, int64_t planes) const {
  if (weights.encoded_bytes == 0) return 0;
  const Port& port = port_of_region(op.weight_region);
  const int words =
      op.fast_weights ? accelerator_->u85.read_buffer_fast_weights_words : accelerator_->u85.read_buffer_weights_words;
  const double bytes = static_cast<double>(weights.encoded_bytes) * static_cast<double>(planes);
  return npu::access_cycles(bytes, bandwidth(port, words), port.read_latency_cycles);
}

// Latency and transfer of the first block of one operand; nothing for a scalar or a chaining buffer.
double CycleModel::first_read_cycles(const Operation& op, const FeatureMap& map, const Extent& block) const {
  if (map.storage == Storage::kChained || map.storage == Storage::kNone) return 0;
  const double bytes = static_cast<double>(elements(block)) * map.type.bytes;
  return port_of_region(map.region).read_latency_cycles + read_cycles(op, map, block, bytes);
}

namespace {

// The elements that all blocks of an elementwise operation read of one operand. Each block reads its part of the
// operand, broadcast or not.
int64_t elementwise_reads(const FeatureMap& map, const Extent& box, const Extent& ofm, const Extent& block) {
  const auto along = [](int32_t size, int32_t whole, int32_t part) {
    return int64_t{size == whole ? whole : ceil_div(whole, part)};
  };
  const int64_t depth = is_bricked(map) ? round_up(box.depth, int32_t{npu::kBrickDepth}) : box.depth;
  return along(box.height, ofm.height, block.height) * along(box.width, ofm.width, block.width) * depth *
         (box.depth == ofm.depth ? 1 : ceil_div(ofm.depth, block.depth));
}

}  // namespace

// The elements of the IFM that an operation with a window reads.
int64_t CycleModel::window_reads(const Operation& op, const Geometry& g) const {
  const Kernel& k = op.kernel;
  const Extent box = ifm_box(op);
  const int upscale = op.upscale == Upscale::kNone ? 1 : 2;
  const int64_t rows = npu::window_reads({.ofm = op.ofm_extent.height,
                                          .block = g.block.height,
                                          .taps = k.height,
                                          .dilation = k.dilation_y,
                                          .stride = k.stride_y,
                                          .padding = op.padding.top,
                                          .ifm = box.height,
                                          .sub_kernel = op.sub_kernel,
                                          .upscale = upscale});
  const int64_t columns = npu::window_reads({.ofm = op.ofm_extent.width,
                                             .block = g.block.width,
                                             .taps = k.width,
                                             .dilation = k.dilation_x,
                                             .stride = k.stride_x,
                                             .padding = op.padding.left,
                                             .ifm = box.width,
                                             .sub_kernel = op.sub_kernel,
                                             .upscale = upscale});
  const bool all_depth = sums_over_depth(g.kind);
  const int32_t depth = all_depth ? op.ifm_depth : op.ofm_extent.depth;
  const int64_t stored = is_bricked(op.ifm) ? round_up(depth, int32_t{npu::kBrickDepth}) : depth;
  const int64_t times =
      all_depth ? npu::depth_reads(
                      {.ifm_depth = op.ifm_depth, .ifm_block_depth = g.ifm_block_limit, .ofm_blocks = g.blocks_z})
                : 1;
  return rows * columns * stored * times;
}

// Calls add(map, bytes, block) for each operand in memory.
template <typename Add>
void CycleModel::add_operands(const Operation& op, const Geometry& g, const Add& add) const {
  if (g.kind == WorkKind::kElementwise) {
    const auto add_part = [&](const FeatureMap& map, const Extent& box) {
      const int64_t reads = elementwise_reads(map, box, op.ofm_extent, g.block);
      add(map, static_cast<double>(reads * map.type.bytes), clipped(g.block, box));
    };
    if (!op.ifm_broadcast.scalar) add_part(op.ifm, ifm_box(op));
    if (op.reads_ifm2()) add_part(op.ifm2, ifm2_box(op));
    return;
  }
  if (g.kind == WorkKind::kResize) {  // an element of the IFM for each result; its kernel registers are the IFM's size
    const Extent& ofm = op.ofm_extent;
    const int32_t depth = is_bricked(op.ifm) ? round_up(ofm.depth, int32_t{npu::kBrickDepth}) : ofm.depth;
    add(op.ifm, static_cast<double>(int64_t{ofm.height} * ofm.width * depth * op.ifm.type.bytes), g.block);
    return;
  }
  if (op.pool != PoolMode::kNone || op.kind != OperationKind::kPool)
    add(op.ifm, static_cast<double>(window_reads(op, g) * op.ifm.type.bytes), g.ifm_block);
  if (op.reads_ifm2())
    add(op.ifm2, static_cast<double>(stored_elements(op.ifm2, ifm2_box(op))) * op.ifm2.type.bytes, g.block);
}

namespace {

// The traffic of one operation over the ports. All of it shares a port's bandwidth. On U85 each channel also has a
// limit of its own, from its read buffer and the memory's latency, and the channels run concurrently.
struct PortLoad {
  std::array<double, kMemoryKinds> shared{};
  std::array<double, kMemoryKinds> slowest_channel{};
  void add(MemoryKind memory, double port_cycles, double channel_cycles) {
    const auto m = static_cast<size_t>(memory);
    shared[m] += port_cycles;
    slowest_channel[m] = std::max(slowest_channel[m], channel_cycles);
  }
};

}  // namespace

PortShares CycleModel::estimate_access(const Operation& op, const Geometry& g, const WeightFacts& weights,
                                       OperationReport& report) const {
  PortLoad load;
  const auto add_read = [&](const FeatureMap& map, double bytes, const Extent& block) {
    if (map.storage == Storage::kChained || map.storage == Storage::kNone) return;
    const Port& port = port_of_region(map.region);
    report.traffic[static_cast<size_t>(port.memory)].feature_map_read_bytes += static_cast<uint64_t>(bytes);
    load.add(port.memory, transferred(map, block, bytes, false) / port.bytes_per_cycle,
             read_cycles(op, map, block, bytes));
  };
  add_operands(op, g, add_read);
  if (op.ofm.storage != Storage::kChained && op.acc_output == AccOutput::kWrite) {
    const Port& port = port_of_region(op.ofm.region);
    report.traffic[static_cast<size_t>(port.memory)].feature_map_write_bytes += static_cast<uint64_t>(written(op));
    const double bytes = static_cast<double>(stored_elements(op.ofm, stored_extent(op))) * op.ofm.type.bytes;
    const double cycles = write_cycles(op, g.block, bytes);
    load.add(port.memory, cycles, cycles);
  }
  if (weights.encoded_bytes != 0 || weights.scale_bytes != 0) {
    // A block of the OFM needs all weights and scales of its channels. They are fetched once per block of the plane.
    const auto add_stream = [&](uint64_t bytes, int region, int read_buffer_words) {
      const Port& port = port_of_region(region);
      const uint64_t fetched = bytes * static_cast<uint64_t>(g.blocks_xy);
      report.traffic[static_cast<size_t>(port.memory)].weight_read_bytes += fetched;
      load.add(port.memory, static_cast<double>(fetched) / port.bytes_per_cycle,
               static_cast<double>(fetched) / bandwidth(port, read_buffer_words));
    };
    const npu::U85Rams& buffers = accelerator_->u85;
    add_stream(weights.encoded_bytes, op.weight_region,
               op.fast_weights ? buffers.read_buffer_fast_weights_words : buffers.read_buffer_weights_words);
    add_stream(weights.scale_bytes, op.scale_region, buffers.read_buffer_scale_words);
  }
  for (size_t m = 0; m < load.shared.size(); ++m)
    report.cycles.access[m] = static_cast<uint64_t>(std::max(load.shared[m], load.slowest_channel[m]));
  return load.shared;
}

PortShares CycleModel::estimate_dma(const DmaTransfer& dma, uint64_t bytes, OperationReport& report) const {
  double read = 0, write = 0;
  PortShares busy{};
  if (!dma.source_internal) {
    const Port& port = port_of_region(dma.source_region);
    busy[static_cast<size_t>(port.memory)] += static_cast<double>(bytes) / port.bytes_per_cycle;
    read =
        npu::access_cycles(static_cast<double>(bytes), bandwidth(port, accelerator_->u85.read_buffer_mem_to_mem_words),
                           port.read_latency_cycles);
  }
  if (!dma.destination_internal) {
    const Port& port = port_of_region(dma.destination_region);
    busy[static_cast<size_t>(port.memory)] += static_cast<double>(bytes) / port.bytes_per_cycle;
    write = npu::access_cycles(static_cast<double>(bytes), port.bytes_per_cycle, port.write_latency_cycles);
  }
  report.cycles.dma = static_cast<uint64_t>(std::max(read, write));
  // Region 0 holds weights, scales and tables. Transfers between other regions are feature maps.
  const bool constants = dma.source_region == 0;
  const auto memory_of = [&](bool internal, int region) {
    return static_cast<size_t>(internal ? MemoryKind::kInternal : port_of_region(region).memory);
  };
  Traffic& from = report.traffic[memory_of(dma.source_internal, dma.source_region)];
  Traffic& to = report.traffic[memory_of(dma.destination_internal, dma.destination_region)];
  (constants ? from.weight_read_bytes : from.feature_map_read_bytes) += bytes;
  (constants ? to.weight_write_bytes : to.feature_map_write_bytes) += bytes;
  for (double& share : busy) share = std::min(1.0, share / std::max<double>(1, static_cast<double>(report.cycles.dma)));
  return busy;
}

}  // namespace carina::simulate
