#include "simulate/cycle_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/checked_math.h"
#include "facts/npu_performance.h"
#include "npu/cost.h"
#include "npu/table_names.h"
#include "simulate/work.h"

namespace carina::simulate {

namespace {

enum class Kind : uint8_t { kDepthFirst, kPartKernel, kReduceSum, kDepthwise, kPool, kElementwise, kResize };

Kind kind_of(const Operation& op) {
  switch (op.kind) {
    case OperationKind::kConvolution:
      return op.traversal == Traversal::kPartKernel ? Kind::kPartKernel : Kind::kDepthFirst;
    case OperationKind::kDepthwise:
      return Kind::kDepthwise;
    case OperationKind::kPool:
      return op.pool == PoolMode::kReduceSum ? Kind::kReduceSum : Kind::kPool;
    case OperationKind::kElementwise:
      return Kind::kElementwise;
    default:
      return Kind::kResize;
  }
}

bool sums_over_depth(Kind kind) {
  return kind == Kind::kDepthFirst || kind == Kind::kPartKernel || kind == Kind::kReduceSum;
}
npu::MacKind mac_kind(Kind kind) {
  switch (kind) {
    case Kind::kDepthFirst:
      return npu::MacKind::kDepthFirst;
    case Kind::kPartKernel:
      return npu::MacKind::kPartKernel;
    case Kind::kReduceSum:
      return npu::MacKind::kReduceSum;
    case Kind::kDepthwise:
      return npu::MacKind::kDepthwise;
    default:
      return npu::MacKind::kPool;
  }
}
npu::WeightOrder order_of(Kind kind) {
  return kind == Kind::kPartKernel ? npu::WeightOrder::PART_KERNEL_FIRST : npu::WeightOrder::DEPTH_FIRST;
}
bool is_bricked(const FeatureMap& map) {
  return map.format == Format::kNhcwb16;
}
int64_t elements(const Extent& e) {
  return int64_t{e.height} * e.width * e.depth;
}
Extent clipped(const Extent& a, const Extent& b) {
  return {
      .height = std::min(a.height, b.height), .width = std::min(a.width, b.width), .depth = std::min(a.depth, b.depth)};
}
// Elements that move when a tensor of this format is read or written: bricks are whole.
int64_t stored_elements(const FeatureMap& map, const Extent& e) {
  return int64_t{e.height} * e.width * (is_bricked(map) ? round_up(e.depth, int32_t{npu::kBrickDepth}) : e.depth);
}

}  // namespace

// The pieces that an operation is cut into.
struct CycleModel::Geometry {
  Kind kind;
  Extent ublock;           // of the OFM
  Extent block;            // of the OFM, clipped to it
  Extent ifm;              // the window space
  Extent ifm_block;        // clipped
  int64_t ublocks_xy = 1;  // in a block
  int64_t ublocks_z = 1;
  double blocks = 1;      // that the OFM has, in blocks' worth of ublocks
  int64_t blocks_xy = 1;  // whole blocks
  int64_t blocks_z = 1;
  int64_t sub_kernels = 1;
};

Result<CycleModel> CycleModel::make(const npu::AcceleratorConfig& accelerator, const Options& options) {
  const npu::FamilyDefaults& defaults = npu::defaults_of(accelerator.product);
  const std::string system_name =
      options.system_config.empty() ? std::string(defaults.system_config) : options.system_config;
  const std::string mode_name = options.memory_mode.empty() ? std::string(defaults.memory_mode) : options.memory_mode;
  const npu::SystemConfig* system =
      options.own_system_config ? &*options.own_system_config : npu::find_system_config(system_name);
  if (system == nullptr || system->product != accelerator.product) {
    return fail(Diagnostic{
        .where = "system configuration",
        .what = fmt::format("{} has no such system configuration", accelerator.name),
        .expected = npu::names_of(npu::kSystemConfigs,
                                  [&](const npu::SystemConfig& c) { return c.product == accelerator.product; }),
        .got = system_name,
        .hint = {},
        .fault = Fault::kUsage});
  }
  CycleModel model;
  model.accelerator_ = &accelerator;
  const npu::MemoryMode* mode = options.own_memory_mode ? &*options.own_memory_mode : npu::find_memory_mode(mode_name);
  if (mode == nullptr) {
    return fail(Diagnostic{.where = "memory mode",
                           .what = "there is no such memory mode",
                           .expected = npu::names_of(npu::kMemoryModes),
                           .got = mode_name,
                           .hint = {},
                           .fault = Fault::kUsage});
  }
  model.mode_ = *mode;
  model.clock_hz_ = system->core_clock_hz;
  for (size_t i = 0; i < model.ports_.size(); ++i) {
    const npu::MemoryPort& port = system->ports[i];
    model.ports_[i] = {.memory = static_cast<MemoryKind>(port.kind),
                       .bytes_per_cycle = npu::port_bytes_per_cycle(accelerator.product, port),
                       .bursts_outstanding = port.max_reads * port.ports_used * npu::kU85OutstandingEfficiency,
                       .burst_bytes = port.burst_bytes,
                       .beat_bytes = npu::limits_of(accelerator.product).axi_port_bytes,
                       .read_latency_cycles = port.read_latency_cycles,
                       .write_latency_cycles = port.write_latency_cycles};
  }
  return model;
}

const Port& CycleModel::port_of_region(int region) const {
  const int port = region == 0 ? mode_.constants_port : region == 2 ? mode_.cache_port : mode_.arena_port;
  return ports_[static_cast<size_t>(port)];
}

CycleModel::Geometry CycleModel::geometry(const Operation& op) const {
  Geometry g{.kind = kind_of(op),
             .ublock = {},
             .block = clipped(op.block, op.ofm_extent),
             .ifm = window_extent(op),
             .ifm_block = {}};
  if (op.u85) {
    g.ublock = {.height = op.microblock_height, .width = op.microblock_width, .depth = op.microblock_depth};
  } else {
    const npu::Block3& u = accelerator_->ofm_ublocks[0].block;
    g.ublock = {.height = u.height, .width = u.width, .depth = u.depth};
    // Parts with two rows of MAC units use them side by side on tensors of one row.
    if (u.height == 2 && op.is_convolution_like() && op.ofm_extent.height == 1 && op.ofm_extent.width % 2 == 0 &&
        op.kernel.height == 1) {
      g.ublock = {.height = 1, .width = 4, .depth = u.depth};
    }
  }
  const Kernel& k = op.kernel;
  const int32_t limit = op.sub_kernel;
  const int32_t extra = op.upscale == Upscale::kNearest ? 1 : 0;
  const int32_t upscale = op.upscale == Upscale::kNone ? 1 : 2;
  const auto along = [&](int32_t block, int32_t stride, int32_t extent) {
    return ((block - 1) * stride + std::min(extent, limit) + extra + upscale - 1) / upscale;
  };
  int32_t depth = g.block.depth;
  if (sums_over_depth(g.kind)) {
    const int32_t bits = 8 * op.ifm.type.bytes;
    depth = op.u85 ? npu::u85_ifm_block_depth({.npu = *accelerator_,
                                               .order = order_of(g.kind),
                                               .ifm_bits = bits,
                                               .ublock_depth = g.ublock.depth,
                                               .sparse_weights = op.sparse_weights})
                   : npu::clipped_ifm_block_depth({.ifm_depth = op.ifm_depth,
                                                   .ifm_bits = bits,
                                                   .order = order_of(g.kind),
                                                   .granule = accelerator_->ifm_ublock.depth});
  }
  g.ifm_block = {.height = along(g.block.height, k.stride_y, k.extent_h),
                 .width = along(g.block.width, k.stride_x, k.extent_w),
                 .depth = depth};
  if (g.kind == Kind::kElementwise || g.kind == Kind::kResize) {
    g.ifm = ifm_box(op);
    g.ifm_block = g.block;
  }
  g.ifm_block = clipped(g.ifm_block, g.ifm);
  g.ublocks_xy = ceil_div<int64_t>(g.block.width, g.ublock.width) * ceil_div<int64_t>(g.block.height, g.ublock.height);
  g.ublocks_z = ceil_div<int64_t>(g.block.depth, g.ublock.depth);
  const double ofm_ublocks = static_cast<double>(ceil_div<int64_t>(op.ofm_extent.width, g.ublock.width)) *
                             static_cast<double>(ceil_div<int64_t>(op.ofm_extent.height, g.ublock.height)) *
                             static_cast<double>(ceil_div<int64_t>(op.ofm_extent.depth, g.ublock.depth));
  g.blocks = ofm_ublocks / static_cast<double>(g.ublocks_xy * g.ublocks_z);
  g.blocks_xy =
      ceil_div<int64_t>(op.ofm_extent.width, g.block.width) * ceil_div<int64_t>(op.ofm_extent.height, g.block.height);
  g.blocks_z = ceil_div<int64_t>(op.ofm_extent.depth, g.block.depth);
  g.sub_kernels = ceil_div<int64_t>(k.width, limit) * ceil_div<int64_t>(k.height, limit);
  return g;
}

// ---- MAC unit ----

// Of one OFM block.
double CycleModel::mac_cycles(const Operation& op, const Geometry& g) const {
  return npu::mac_cycles(
      {.npu = *accelerator_,
       .kind = mac_kind(g.kind),
       .ifm_bits = 8 * op.ifm.type.bytes,
       .acc_bits = op.acc_bits,
       .kernel_height = op.kernel.height,
       .kernel_width = op.kernel.width,
       .sub_kernel = op.sub_kernel,
       .ublocks_xy = g.ublocks_xy,
       .ublocks_z = g.ublocks_z,
       .ublock_depth = g.ublock.depth,
       .is_one_ublock_wide_or_high = g.block.width <= g.ublock.width || g.block.height <= g.ublock.height,
       .ifm_block_depth = g.ifm_block.depth,
       .ifm_depth = op.ifm_depth,
       .weight_streams = op.weight_streams,
       .sparse_weights = op.sparse_weights,
       .cores = op.cores},
      npu::kTimeLineCost);
}

// ---- Output unit ----

namespace {

npu::OutputWork::Kind output_kind(const Operation& op) {
  using enum npu::OutputWork::Kind;
  if (op.kind == OperationKind::kPool && op.pool == PoolMode::kMax) return kMaxPool;
  if (op.kind != OperationKind::kElementwise) return kOther;
  switch (op.elementwise) {
    case ElementwiseMode::kMul:
      return kMul;
    case ElementwiseMode::kAdd:
    case ElementwiseMode::kSub:
      return kAddSub;
    case ElementwiseMode::kDiv:
      return kDiv;
    default:
      return op.is_unary() ? kUnary : kBinary;
  }
}

bool clamps(const Operation& op) {
  const ElementType& t = op.ofm.type;
  if (!op.activation.clamp || t.bytes > 2) return false;
  const int64_t low = t.is_signed ? -(int64_t{1} << (8 * t.bytes - 1)) : 0;
  const int64_t high = (int64_t{1} << (8 * t.bytes - (t.is_signed ? 1 : 0))) - 1;
  return op.activation.min > low || op.activation.max < high;
}

}  // namespace

double CycleModel::output_cycles_per_element(const Operation& op) const {
  const npu::ActivationKind activation = op.activation.lut != Lut::kNone ? npu::ActivationKind::kTable
                                         : clamps(op)                    ? npu::ActivationKind::kRelu
                                                                         : npu::ActivationKind::kNone;
  return npu::output_cycles_per_element({.npu = *accelerator_,
                                         .kind = output_kind(op),
                                         .ifm_bits = 8 * op.ifm.type.bytes,
                                         .ofm_bits = 8 * op.ofm.type.bytes,
                                         .acc_bits = op.acc_bits,
                                         .activation = activation,
                                         .is_chained = op.ofm.storage == Storage::kChained,
                                         .is_rearranged = op.transpose != Transpose::kHwc || op.reverse == Reverse::kW,
                                         .cores = op.cores});
}

// ---- Memory ----

double CycleModel::bandwidth(const Port& port, int read_buffer_words) const {
  if (accelerator_->product != npu::Product::kU85) return port.bytes_per_cycle;
  return npu::u85_channel_bytes_per_cycle({.port_bytes_per_cycle = port.bytes_per_cycle,
                                           .burst_bytes = port.burst_bytes,
                                           .bursts_outstanding = port.bursts_outstanding,
                                           .read_latency_cycles = port.read_latency_cycles,
                                           .read_buffer_words = read_buffer_words});
}

// Bytes on the bus for `bytes` useful ones, which come in runs as the format lays them.
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
  return transferred(op.ofm, block, bytes, true) / port_of_region(op.ofm.region).bytes_per_cycle;
}

// `planes`: blocks in the plane of the OFM, for each of which U55 and U65 decode all weights again.
double CycleModel::weight_decode_cycles(const Operation& op, const WeightFacts& weights, int64_t planes) const {
  if (weights.encoded_bytes == 0) return 0;
  const auto values = static_cast<double>(weights.statistics.values);
  const double rate = npu::weights_per_cycle({.npu = *accelerator_,
                                              .zero_rate = weights.statistics.zero_rate,
                                              .distinct_values = weights.statistics.distinct_values,
                                              .fast = op.fast_weights,
                                              .cores = op.cores});
  if (!op.u85) return values * static_cast<double>(planes) / rate;
  const Port& port = port_of_region(op.weight_region);
  const int words =
      op.fast_weights ? accelerator_->u85.read_buffer_fast_weights_words : accelerator_->u85.read_buffer_weights_words;
  const double fetch =
      npu::access_cycles(static_cast<double>(weights.encoded_bytes), bandwidth(port, words), port.read_latency_cycles);
  return std::max(values / rate, fetch);
}

// ---- Operations ----

void CycleModel::estimate_blocks(const Operation& op, const Geometry& g, const WeightFacts& weights,
                                 Cycles& cycles) const {
  const double mac = mac_cycles(op, g);
  double output = std::ceil(output_cycles_per_element(op) * static_cast<double>(elements(g.block)));
  if (weights.scale_bytes != 0) {
    output = std::max(output, static_cast<double>(npu::kScaleEntryBytes) * g.block.depth *
                                  port_of_region(op.scale_region).read_latency_cycles / npu::kBiasLatencyDivisor);
  }
  const double ifm_bytes = static_cast<double>(elements(g.ifm_block)) * op.ifm.type.bytes;
  const double ofm_bytes = static_cast<double>(elements(g.block)) * op.ofm.type.bytes;
  const double first_read =
      port_of_region(op.ifm.region).read_latency_cycles + read_cycles(op, op.ifm, g.ifm_block, ifm_bytes);
  const double last_write = port_of_region(op.ofm.region).write_latency_cycles + write_cycles(op, g.block, ofm_bytes);
  const double total = npu::pipeline_cycles({.mac_cycles = mac,
                                             .output_cycles = output,
                                             .blocks = g.blocks,
                                             .first_read_cycles = first_read,
                                             .last_write_cycles = last_write},
                                            npu::kTimeLineCost);
  cycles.mac = static_cast<uint64_t>(mac * g.blocks);
  cycles.output = static_cast<uint64_t>(output * g.blocks);
  cycles.npu = static_cast<uint64_t>(total);
  cycles.issue = cycles.npu - std::min(cycles.npu, std::max(cycles.mac, cycles.output));
}

// Latency and transfer of the first block of one operand; nothing for a scalar or a chaining buffer.
double CycleModel::first_read_cycles(const Operation& op, const FeatureMap& map, const Extent& block) const {
  if (map.storage == Storage::kChained || map.storage == Storage::kNone) return 0;
  const double bytes = static_cast<double>(elements(block)) * map.type.bytes;
  return port_of_region(map.region).read_latency_cycles + read_cycles(op, map, block, bytes);
}

// The pipeline of estimate_blocks() without its MAC stage: operands in, output unit, result out.
void CycleModel::estimate_elementwise(const Operation& op, const Geometry& g, Cycles& cycles) const {
  const double per_element = output_cycles_per_element(op);
  const auto block = static_cast<double>(stored_elements(op.ofm, g.block));
  const double blocks = static_cast<double>(stored_elements(op.ofm, op.ofm_extent)) / block;
  double first_read = op.ifm_broadcast.scalar ? 0 : first_read_cycles(op, op.ifm, g.block);
  if (op.reads_ifm2())
    first_read = std::max(first_read, first_read_cycles(op, op.ifm2, clipped(g.block, ifm2_box(op))));
  double last_write = 0;
  if (op.ofm.storage != Storage::kChained) {
    const double bytes = static_cast<double>(elements(g.block)) * op.ofm.type.bytes;
    last_write = port_of_region(op.ofm.region).write_latency_cycles + write_cycles(op, g.block, bytes);
  }
  const double output = per_element * block;
  cycles.output = static_cast<uint64_t>(std::ceil(output * blocks));
  cycles.npu = static_cast<uint64_t>(npu::elementwise_cycles(
      {.output_cycles = output, .blocks = blocks, .first_read_cycles = first_read, .last_write_cycles = last_write},
      npu::kTimeLineCost));
  cycles.issue = cycles.npu - std::min(cycles.npu, cycles.output);
}

// Calls add(map, bytes, block) for each operand in memory.
template <typename Add>
void CycleModel::add_operands(const Operation& op, const Geometry& g, const Add& add) const {
  if (g.kind == Kind::kElementwise) {
    // Each block of the OFM reads its part of each operand, broadcast or not.
    const double blocks = static_cast<double>(stored_elements(op.ofm, op.ofm_extent)) /
                          static_cast<double>(stored_elements(op.ofm, g.block));
    const auto add_part = [&](const FeatureMap& map, const Extent& box) {
      const Extent part = clipped(g.block, box);
      add(map, static_cast<double>(stored_elements(map, part)) * blocks * map.type.bytes, part);
    };
    if (!op.ifm_broadcast.scalar) add_part(op.ifm, ifm_box(op));
    if (op.reads_ifm2()) add_part(op.ifm2, ifm2_box(op));
    return;
  }
  const bool all_depth = sums_over_depth(g.kind);
  const auto area = static_cast<double>(int64_t{g.ifm_block.height} * g.ifm_block.width);
  const int32_t depth = all_depth ? op.ifm_depth : op.ofm_extent.depth;
  const auto stored_depth =
      static_cast<double>(is_bricked(op.ifm) ? round_up(depth, int32_t{npu::kBrickDepth}) : depth);
  const auto repeats = static_cast<double>(g.sub_kernels * g.blocks_xy * (all_depth ? g.blocks_z : 1));
  if (op.pool != PoolMode::kNone || op.kind != OperationKind::kPool)
    add(op.ifm, area * stored_depth * repeats * op.ifm.type.bytes, g.ifm_block);
  if (op.reads_ifm2())
    add(op.ifm2, static_cast<double>(stored_elements(op.ifm2, ifm2_box(op))) * op.ifm2.type.bytes, g.block);
}

namespace {

// What one operation moves over the ports. All of it shares a port's width; on U85 each channel also has a limit of its
// own, from its read buffer and the memory's latency, and the channels run beside each other.
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
    const double bytes = static_cast<double>(stored_elements(op.ofm, stored_extent(op))) * op.ofm.type.bytes;
    report.traffic[static_cast<size_t>(port.memory)].feature_map_write_bytes += static_cast<uint64_t>(bytes);
    const double cycles = write_cycles(op, g.block, bytes);
    load.add(port.memory, cycles, cycles);
  }
  if (weights.encoded_bytes != 0) {
    // A block of the OFM wants all weights of its channels: each is fetched once per block of the plane.
    const Port& port = port_of_region(op.weight_region);
    const auto add_stream = [&](double bytes, int read_buffer_words) {
      report.traffic[static_cast<size_t>(port.memory)].weight_read_bytes += static_cast<uint64_t>(bytes);
      load.add(port.memory, bytes / port.bytes_per_cycle, bytes / bandwidth(port, read_buffer_words));
    };
    const npu::U85Rams& buffers = accelerator_->u85;
    const auto repeats = static_cast<double>(g.blocks_xy);
    add_stream(static_cast<double>(weights.encoded_bytes) * repeats,
               op.fast_weights ? buffers.read_buffer_fast_weights_words : buffers.read_buffer_weights_words);
    // U85 fetches the scales again for each block.
    add_stream(static_cast<double>(weights.scale_bytes) * (op.u85 ? repeats : 1), buffers.read_buffer_scale_words);
  }
  for (size_t m = 0; m < load.shared.size(); ++m)
    report.cycles.access[m] = static_cast<uint64_t>(std::max(load.shared[m], load.slowest_channel[m]));
  return load.shared;
}

PortShares CycleModel::estimate_kernel(const Operation& op, const WeightFacts& weights, OperationReport& report) const {
  const Geometry g = geometry(op);
  Cycles& cycles = report.cycles;
  if (g.kind == Kind::kElementwise || g.kind == Kind::kResize) {
    estimate_elementwise(op, g, cycles);
  } else {
    estimate_blocks(op, g, weights, cycles);
  }
  cycles.weight_decode = static_cast<uint64_t>(weight_decode_cycles(op, weights, g.blocks_xy));
  if (op.u85) cycles.npu = std::max(cycles.npu, cycles.weight_decode);
  PortShares shares = estimate_access(op, g, weights, report);
  cycles.total = cycles.npu;
  for (const uint64_t access : cycles.access) cycles.total = std::max(cycles.total, access);
  for (double& share : shares) share = std::min(1.0, share / std::max(1.0, static_cast<double>(cycles.total)));
  return shares;
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
  // Region 0 holds weights, scales and tables; what moves between the others is feature maps.
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
