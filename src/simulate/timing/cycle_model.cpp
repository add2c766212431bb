#include "simulate/timing/cycle_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "facts/npu_performance.h"
#include "npu/cost/cost.h"
#include "npu/table_names.h"
#include "simulate/kernels/work.h"
#include "simulate/timing/cycle_work_internal.h"

namespace carina::simulate {

namespace {

WorkKind kind_of(const Operation& op) {
  switch (op.kind) {
    case OperationKind::kConvolution:
      return op.traversal == Traversal::kPartKernel ? WorkKind::kPartKernel : WorkKind::kDepthFirst;
    case OperationKind::kDepthwise:
      return WorkKind::kDepthwise;
    case OperationKind::kPool:
      return op.pool == PoolMode::kReduceSum ? WorkKind::kReduceSum : WorkKind::kPool;
    case OperationKind::kElementwise:
      return WorkKind::kElementwise;
    default:
      return WorkKind::kResize;
  }
}

npu::MacKind mac_kind(WorkKind kind) {
  switch (kind) {
    case WorkKind::kDepthFirst:
      return npu::MacKind::kDepthFirst;
    case WorkKind::kPartKernel:
      return npu::MacKind::kPartKernel;
    case WorkKind::kReduceSum:
      return npu::MacKind::kReduceSum;
    case WorkKind::kDepthwise:
      return npu::MacKind::kDepthwise;
    default:
      return npu::MacKind::kPool;
  }
}
npu::WeightOrder order_of(WorkKind kind) {
  return kind == WorkKind::kPartKernel ? npu::WeightOrder::PART_KERNEL_FIRST : npu::WeightOrder::DEPTH_FIRST;
}
}  // namespace

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
        .what = fmt::format("unknown system configuration for {}", accelerator.name),
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
                           .what = "unknown memory mode",
                           .expected = npu::names_of(npu::kMemoryModes),
                           .got = mode_name,
                           .hint = {},
                           .fault = Fault::kUsage});
  }
  model.mode_ = *mode;
  model.detail_ = options.cost;
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
    // Parts with two rows of MAC units use both rows on tensors of height one.
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
  g.ifm_block_limit = depth;
  g.ifm_block = {.height = along(g.block.height, k.stride_y, k.extent_h),
                 .width = along(g.block.width, k.stride_x, k.extent_w),
                 .depth = depth};
  if (g.kind == WorkKind::kElementwise || g.kind == WorkKind::kResize) {
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

// The cycles of one OFM block.
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
      detail_);
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
                                            detail_);
  cycles.mac = static_cast<uint64_t>(mac * g.blocks);
  cycles.output = static_cast<uint64_t>(output * g.blocks);
  cycles.npu = static_cast<uint64_t>(total);
  cycles.issue = cycles.npu - std::min(cycles.npu, std::max(cycles.mac, cycles.output));
}

// The pipeline of estimate_blocks() without its MAC stage: operands in, output unit, result out.
void CycleModel::estimate_elementwise(const Operation& op, const Geometry& g, Cycles& cycles) const {
  const double per_element = output_cycles_per_element(op);
  const auto processed = [&](const Extent& e) {
    const npu::ElementwiseDepth depth{.bricks = is_bricked(op.ofm), .depth = e.depth, .ublock_depth = g.ublock.depth};
    return static_cast<double>(int64_t{e.height} * e.width * npu::elementwise_depth(depth, detail_));
  };
  const double block = processed(g.block);
  const double blocks = processed(op.ofm_extent) / block;
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
      detail_));
  cycles.issue = cycles.npu - std::min(cycles.npu, cycles.output);
}

PortShares CycleModel::estimate_kernel(const Operation& op, const WeightFacts& weights, OperationReport& report) const {
  const Geometry g = geometry(op);
  Cycles& cycles = report.cycles;
  if (g.kind == WorkKind::kElementwise || g.kind == WorkKind::kResize) {
    estimate_elementwise(op, g, cycles);
  } else {
    estimate_blocks(op, g, weights, cycles);
  }
  const double decode = weight_decode_cycles(op, weights, g.blocks_xy);
  const double fetch = op.u85 ? u85_fetch_cycles(op, weights, g.blocks_xy) : 0;
  cycles.weight_decode = static_cast<uint64_t>(std::max(decode, fetch));
  if (op.u85)
    cycles.npu = std::max(cycles.npu, static_cast<uint64_t>(std::max(npu::u85_decoding_cycles(decode), fetch)));
  PortShares shares = estimate_access(op, g, weights, report);
  cycles.total = cycles.npu;
  for (const uint64_t access : cycles.access) cycles.total = std::max(cycles.total, access);
  for (double& share : shares) share = std::min(1.0, share / std::max(1.0, static_cast<double>(cycles.total)));
  return shares;
}

}  // namespace carina::simulate
