#include "plan/cost/kernel_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked_math.h"
#include "npu/cost/channel.h"
#include "npu/cost/cost.h"
#include "npu/cost/traffic.h"
#include "plan/cost/cost.h"
#include "plan/network/transposed_map.h"

namespace carina::plan {

// The division of an operation into blocks.
struct KernelCost::Geometry {
  npu::Block3 ublock;
  npu::Block3 block;      // of the OFM, clipped to it
  npu::Block3 ifm_block;  // clipped
  int64_t ublocks_xy = 1;
  int64_t ublocks_z = 1;
  double blocks = 1;
  int64_t blocks_xy = 1;
  int64_t blocks_z = 1;
  int64_t ifm_block_limit = 1;  // channels that the input buffer holds
};

// The bus traffic of a feature map.
struct KernelCost::Operand {
  const FeatureMap& map;
  bool bricks;
  bool chained;
  size_t port;
};

// The load of one port. All accesses of an operation share its bandwidth; each channel may also have a limit of its
// own.
struct KernelCost::PortLoad {
  std::array<double, 2> shared = {};
  std::array<double, 2> slowest = {};
  void add(size_t port, double port_cycles, double channel_cycles) {
    shared[port] += port_cycles;
    slowest[port] = std::max(slowest[port], channel_cycles);
  }
};

namespace {

npu::MacKind mac_kind(const Step& op, const BlockConfig& b) {
  if (op.kind == StepKind::kDepthwise) return npu::MacKind::kDepthwise;
  if (op.kind == StepKind::kPool && !op.sums_over_depth()) return npu::MacKind::kPool;
  if (op.kind == StepKind::kPool) return npu::MacKind::kReduceSum;
  return b.order == npu::WeightOrder::PART_KERNEL_FIRST ? npu::MacKind::kPartKernel : npu::MacKind::kDepthFirst;
}

bool is_sparse(const BlockConfig& b) {
  return b.sparsity == npu::WeightSparsity::SPARSE_2_4;
}
bool is_fast(const BlockConfig& b) {
  return b.format == npu::WeightFormat::FWD;
}

int acc_bits(const Step& op) {
  return op.acc == AccWidth::kWide ? 40 : 32;
}

npu::ActivationKind activation_kind(const Step& op) {
  if (op.uses_table() || op.activation.built_in != BuiltIn::kNone) return npu::ActivationKind::kTable;
  const bool clamps =
      op.ofm.type.bits <= 16 && (op.activation.min > op.ofm.type.min() || op.activation.max < op.ofm.type.max());
  return clamps ? npu::ActivationKind::kRelu : npu::ActivationKind::kNone;
}

npu::Block3 clipped(const npu::Block3& a, int64_t height, int64_t width, int64_t depth) {
  return {.height = static_cast<int>(std::min<int64_t>(a.height, height)),
          .width = static_cast<int>(std::min<int64_t>(a.width, width)),
          .depth = static_cast<int>(std::min<int64_t>(a.depth, depth))};
}

double elements(const npu::Block3& b) {
  return static_cast<double>(int64_t{b.height} * b.width * b.depth);
}

double stored_depth(bool bricks, int64_t depth) {
  return static_cast<double>(bricks ? round_up<int64_t>(depth, npu::kBrickDepth) : depth);
}

double stored_elements(bool bricks, int64_t height, int64_t width, int64_t depth) {
  return static_cast<double>(height * width) * stored_depth(bricks, depth);
}

// The IFM's positions that the blocks of an operation with a window read.
int64_t plane_reads(const Step& op, const npu::Block3& block) {
  const Kernel& k = op.kernel;
  return npu::window_reads({.ofm = op.ofm.height,
                            .block = block.height,
                            .taps = k.height,
                            .dilation = k.dilation_y,
                            .stride = k.stride_y,
                            .padding = op.padding.top,
                            .ifm = op.ifm.height,
                            .upscale = op.upscale}) *
         npu::window_reads({.ofm = op.ofm.width,
                            .block = block.width,
                            .taps = k.width,
                            .dilation = k.dilation_x,
                            .stride = k.stride_x,
                            .padding = op.padding.left,
                            .ifm = op.ifm.width,
                            .upscale = op.upscale});
}

// The part of a broadcast operand that belongs to a box of the OFM.
npu::Block3 broadcast_part(const npu::Block3& block, const Broadcast& b) {
  return {
      .height = b.height ? 1 : block.height, .width = b.width ? 1 : block.width, .depth = b.depth ? 1 : block.depth};
}

}  // namespace

KernelCost::KernelCost(const Schedule& schedule, const Family& family, const Target& target,
                       const npu::CostDetail& detail)
    : schedule_(schedule), family_(family), target_(target), detail_(detail) {
  const auto spaces = family.spaces(target);
  CARINA_CHECK(spaces.has_value(), "the target was not checked");
  for (size_t i = 0; i < kSpaces; ++i) {
    if ((*spaces)[i]) ports_[i] = (*spaces)[i]->port;
  }
}

size_t KernelCost::port_of(Space space) const {
  return ports_[static_cast<size_t>(space)];
}

double KernelCost::transfer(int64_t bytes, Space from, Space to) const {
  const auto port = [&](Space space) {
    return space == Space::kTables ? nullptr : &target_.system.ports[port_of(space)];
  };
  return npu::transfer_cycles(target_.accelerator, static_cast<double>(bytes), port(from), port(to));
}

KernelCost::Operand KernelCost::operand(const FeatureMap& map) const {
  const PlanTensor& tensor = schedule_[map.tensor];
  const Space space = tensor.storage.valid()                 ? schedule_[tensor.storage].space
                      : tensor.kind == TensorKind::kConstant ? Space::kConstants
                                                             : Space::kArena;
  return {.map = map,
          .bricks = tensor.format == Format::kNhcwb16,
          .chained = space == Space::kChaining,
          .port = port_of(space)};
}

KernelCost::Geometry KernelCost::geometry(const Step& op, const BlockConfig& b) const {
  Geometry g;
  const npu::AcceleratorConfig& npu = target_.accelerator;
  const npu::Block3 whole{
      .height = static_cast<int>(b.height), .width = static_cast<int>(b.width), .depth = static_cast<int>(b.depth)};
  g.block = clipped(whole, op.ofm.height, op.ofm.width, op.ofm.depth);
  g.ublock = npu.ofm_ublocks[0].block;
  for (int i = 1; i < npu.ofm_ublock_count; ++i) {
    const npu::OfmUblock& u = npu.ofm_ublocks[static_cast<size_t>(i)];
    if (u.code == b.ublock) g.ublock = u.block;
  }
  // Parts with two rows of MAC units use both rows on tensors of height one.
  if (npu.ofm_ublock_count == 1 && g.ublock.height == 2 && op.is_convolution() && op.ofm.height == 1 &&
      op.ofm.width % 2 == 0 && op.kernel.height == 1)
    g.ublock = {.height = 1, .width = 4, .depth = g.ublock.depth};
  const npu::Block3 in = family_.input_block(op, b, target_);
  const auto along = [&](int64_t block, int64_t stride, int64_t extent) {
    const int64_t window = (block - 1) * stride + std::min<int64_t>(extent, npu::kSubkernelSize);
    return static_cast<int>(ceil_div(window + op.upscale - 1, op.upscale));
  };
  const Kernel& k = op.kernel;
  g.ifm_block = has_no_macs(op) ? g.block
                                : clipped({.height = along(g.block.height, k.stride_y, k.extent_h()),
                                           .width = along(g.block.width, k.stride_x, k.extent_w()),
                                           .depth = op.sums_over_depth() ? in.depth : g.block.depth},
                                          op.ifm.height, op.ifm.width, op.ifm.depth);
  const auto count = [](int64_t size, int64_t part) { return ceil_div<int64_t>(size, part); };
  g.ifm_block_limit = in.depth;
  g.ublocks_xy = count(g.block.width, g.ublock.width) * count(g.block.height, g.ublock.height);
  g.ublocks_z = count(g.block.depth, g.ublock.depth);
  g.blocks = static_cast<double>(count(op.ofm.width, g.ublock.width) * count(op.ofm.height, g.ublock.height)) *
             static_cast<double>(count(op.ofm.depth, g.ublock.depth)) / static_cast<double>(g.ublocks_xy * g.ublocks_z);
  g.blocks_xy = count(op.ofm.width, g.block.width) * count(op.ofm.height, g.block.height);
  g.blocks_z = count(op.ofm.depth, g.block.depth);
  return g;
}

// ---- Memory ----

double KernelCost::bus_bytes(const Operand& what, const npu::Block3& block, double bytes, bool writes) const {
  const auto es = static_cast<double>(what.map.type.bytes());
  const double cores = writes ? target_.accelerator.cores : 1;
  double run = es * block.depth;
  if (what.bricks) {
    run = es * npu::kBrickDepth * block.width * cores;
  } else if (what.map.stride_x == block.depth) {
    run *= block.width;
  } else if (writes) {
    run = std::min({64.0, npu::kBrickDepth * es * cores, run});
  }
  return npu::bus_bytes({.bytes = bytes,
                         .run_bytes = run,
                         .burst_bytes = target_.system.ports[what.port].burst_bytes,
                         .beat_bytes = target_.limits().axi_port_bytes});
}

double KernelCost::read_cycles(const Operand& what, const npu::Block3& block, double bytes) const {
  return bus_bytes(what, block, bytes, false) / npu::channel_bytes_per_cycle(target_.accelerator,
                                                                             target_.system.ports[what.port],
                                                                             npu::ReadChannel::kFeatureMaps);
}

double KernelCost::write_cycles(const Operand& what, const npu::Block3& block, double bytes) const {
  FeatureMap map = what.map;
  map.height = block.height;
  map.width = block.width;
  map.depth = block.depth;
  const FeatureMap stored = transposed_map(map).stored;
  const npu::Block3 part{.height = static_cast<int>(stored.height),
                         .width = static_cast<int>(stored.width),
                         .depth = static_cast<int>(stored.depth)};
  const Operand out{.map = stored, .bricks = what.bricks, .chained = what.chained, .port = what.port};
  return bus_bytes(out, part, bytes, true) /
         npu::port_bytes_per_cycle(target_.accelerator.product, target_.system.ports[what.port]);
}

double KernelCost::first_read(const Operand& what, const npu::Block3& block) const {
  if (what.chained) return 0;
  const double bytes = elements(block) * static_cast<double>(what.map.type.bytes());
  return target_.system.ports[what.port].read_latency_cycles + read_cycles(what, block, bytes);
}

double KernelCost::last_write(const Operand& what, const npu::Block3& block) const {
  if (what.chained) return 0;
  const double bytes = elements(block) * static_cast<double>(what.map.type.bytes());
  return target_.system.ports[what.port].write_latency_cycles + write_cycles(what, block, bytes);
}

// The elements that all blocks of an elementwise operation read of one operand. Each block reads its part of the
// operand, broadcast or not.
double KernelCost::elementwise_reads(const Step& op, const FeatureMap& map, const Broadcast& repeated,
                                     const Geometry& g) const {
  const auto along = [](bool broadcast, int64_t whole, int64_t part) {
    return broadcast ? ceil_div(whole, part) : whole;
  };
  const double depth = repeated.depth ? stored_depth(operand(map).bricks, 1) * static_cast<double>(g.blocks_z)
                                      : stored_depth(operand(map).bricks, op.ofm.depth);
  return static_cast<double>(along(repeated.height, op.ofm.height, g.block.height) *
                             along(repeated.width, op.ofm.width, g.block.width)) *
         depth;
}

void KernelCost::add_maps(const Step& op, const Geometry& g, PortLoad& load) const {
  const auto read = [&](const FeatureMap& map, double stored, const npu::Block3& block) {
    const Operand what = operand(map);
    if (what.chained) return;
    const double bytes = stored * static_cast<double>(map.type.bytes());
    const double width = npu::port_bytes_per_cycle(target_.accelerator.product, target_.system.ports[what.port]);
    load.add(what.port, bus_bytes(what, block, bytes, false) / width, read_cycles(what, block, bytes));
  };
  const Operand out = operand(op.ofm);
  const double written = stored_elements(out.bricks, op.ofm.height, op.ofm.width, op.ofm.depth);
  if (!out.chained) {
    const double cycles = write_cycles(out, g.block, written * static_cast<double>(op.ofm.type.bytes()));
    load.add(out.port, cycles, cycles);
  }
  if (has_no_macs(op)) {
    read(op.ifm, elementwise_reads(op, op.ifm, op.first_broadcast, g), broadcast_part(g.block, op.first_broadcast));
    if (op.reads_second_map())
      read(op.ifm2, elementwise_reads(op, op.ifm2, op.broadcast, g), broadcast_part(g.block, op.broadcast));
    return;
  }
  if (op.kind == StepKind::kPool && op.pool == npu::PoolingMode::NONE) return;  // its IFM registers are a dummy
  const bool all_depth = op.sums_over_depth();
  const int64_t times =
      all_depth ? npu::depth_reads(
                      {.ifm_depth = op.ifm.depth, .ifm_block_depth = g.ifm_block_limit, .ofm_blocks = g.blocks_z})
                : 1;
  const double depth = stored_depth(operand(op.ifm).bricks, all_depth ? op.ifm.depth : op.ofm.depth);
  read(op.ifm, static_cast<double>(plane_reads(op, g.block) * times) * depth, g.ifm_block);
  if (op.reads_second_map())
    read(op.ifm2, stored_elements(operand(op.ifm2).bricks, op.ifm2.height, op.ifm2.width, op.ifm2.depth), g.block);
}

void KernelCost::add_feed(const Geometry& g, const BlockConfig& b, const Feed& feed, PortLoad& load) const {
  const auto add = [&](double bytes, Space from, npu::ReadChannel channel) {
    const size_t port = port_of(from);
    const npu::MemoryPort& memory = target_.system.ports[port];
    load.add(port, bytes / npu::port_bytes_per_cycle(target_.accelerator.product, memory),
             bytes / npu::channel_bytes_per_cycle(target_.accelerator, memory, channel));
  };
  add(feed.weight_bytes * static_cast<double>(g.blocks_xy), feed.weights_from,
      is_fast(b) ? npu::ReadChannel::kFastWeights : npu::ReadChannel::kWeights);
  add(feed.scale_bytes * static_cast<double>(g.blocks_xy), feed.scales_from, npu::ReadChannel::kScales);
}

// ---- Operations ----

namespace {

double output_cycles_per_element(const Step& op, const Target& target, bool chained) {
  return npu::output_cycles_per_element({.npu = target.accelerator,
                                         .kind = output_kind(op),
                                         .ifm_bits = op.ifm.type.bits,
                                         .ofm_bits = op.ofm.type.bits,
                                         .acc_bits = acc_bits(op),
                                         .activation = activation_kind(op),
                                         .is_chained = chained,
                                         .is_rearranged = op.ofm.is_transposed(),
                                         .cores = target.accelerator.cores});
}

}  // namespace

double KernelCost::block_cycles(const Step& op, const BlockConfig& b, const Geometry& g, const Feed& feed) const {
  const double mac = npu::mac_cycles(
      {.npu = target_.accelerator,
       .kind = mac_kind(op, b),
       .ifm_bits = op.ifm.type.bits,
       .acc_bits = acc_bits(op),
       .kernel_height = op.kernel.height,
       .kernel_width = op.kernel.width,
       .ublocks_xy = g.ublocks_xy,
       .ublocks_z = g.ublocks_z,
       .ublock_depth = g.ublock.depth,
       .is_one_ublock_wide_or_high = g.block.width <= g.ublock.width || g.block.height <= g.ublock.height,
       .ifm_block_depth = g.ifm_block.depth,
       .ifm_depth = op.ifm.depth,
       .weight_streams = target_.accelerator.weight_decoders,
       .sparse_weights = is_sparse(b),
       .cores = target_.accelerator.cores},
      detail_);
  const Operand out = operand(op.ofm);
  double output = std::ceil(output_cycles_per_element(op, target_, out.chained) * elements(g.block));
  if (feed.scale_bytes != 0)
    output = std::max(output, static_cast<double>(npu::kScaleEntryBytes) * g.block.depth *
                                  target_.system.ports[port_of(feed.scales_from)].read_latency_cycles /
                                  npu::kBiasLatencyDivisor);
  return npu::pipeline_cycles({.mac_cycles = mac,
                               .output_cycles = output,
                               .blocks = g.blocks,
                               .first_read_cycles = first_read(operand(op.ifm), g.ifm_block),
                               .last_write_cycles = last_write(out, g.block)},
                              detail_);
}

// The pipeline of block_cycles() without its MAC stage.
double KernelCost::elementwise_cycles(const Step& op, const Geometry& g) const {
  const Operand out = operand(op.ofm);
  const auto processed = [&](int64_t height, int64_t width, int64_t depth) {
    const npu::ElementwiseDepth what{.bricks = out.bricks, .depth = depth, .ublock_depth = g.ublock.depth};
    return static_cast<double>(height * width * npu::elementwise_depth(what, detail_));
  };
  const double block = processed(g.block.height, g.block.width, g.block.depth);
  double first = first_read(operand(op.ifm), broadcast_part(g.block, op.first_broadcast));
  if (op.reads_second_map())
    first = std::max(first, first_read(operand(op.ifm2), broadcast_part(g.block, op.broadcast)));
  return npu::elementwise_cycles({.output_cycles = output_cycles_per_element(op, target_, out.chained) * block,
                                  .blocks = processed(op.ofm.height, op.ofm.width, op.ofm.depth) / block,
                                  .first_read_cycles = first,
                                  .last_write_cycles = last_write(out, g.block)},
                                 detail_);
}

KernelCycles KernelCost::of(const Step& op, const BlockConfig& b, const Feed& feed, double max_cycles) const {
  const Geometry g = geometry(op, b);
  double npu = has_no_macs(op) ? elementwise_cycles(op, g) : block_cycles(op, b, g, feed);
  if (npu > max_cycles) return {.total = std::numeric_limits<double>::infinity()};
  npu = std::max(npu, npu::decode_cycles({.npu = target_.accelerator,
                                          .port = target_.system.ports[port_of(feed.weights_from)],
                                          .weights = npu::decoded_weights({.npu = target_.accelerator,
                                                                           .kind = mac_kind(op, b),
                                                                           .ifm_bits = op.ifm.type.bits,
                                                                           .ublock_depth = g.ublock.depth,
                                                                           .taps = op.kernel.taps(),
                                                                           .ifm_depth = op.ifm.depth,
                                                                           .ofm_depth = op.ofm.depth,
                                                                           .sparse_weights = is_sparse(b)}),
                                          .zero_rate = feed.zero_rate,
                                          .encoded_bytes = feed.weight_bytes,
                                          .fast = is_fast(b),
                                          .planes = g.blocks_xy}));
  PortLoad load;
  add_maps(op, g, load);
  add_feed(g, b, feed, load);
  KernelCycles cycles{.total = npu, .port_busy = load.shared};
  for (size_t port = 0; port < load.shared.size(); ++port)
    cycles.total = std::max({cycles.total, load.shared[port], load.slowest[port]});
  return cycles;
}

double cheapest_cycles(Step step, const Family& family, const Target& target) {
  Schedule schedule;
  schedule.storages.push_back({.space = working_space(target, family)});
  schedule.tensors.push_back({.storage = StorageId(0)});
  for (FeatureMap* map : {&step.ofm, &step.ifm, &step.ifm2}) map->tensor = TensorId(0);
  const KernelCost cost(schedule, family, target);
  Feed feed;
  if (step.per_channel) feed.scale_bytes = static_cast<double>(npu::kScaleEntryBytes * step.ofm.depth);
  double cycles = std::numeric_limits<double>::infinity();
  for (const BlockConfig& block : family.legal_blocks(step, target))
    cycles = std::min(cycles, cost.of(step, block, feed).total);
  return cycles;
}

}  // namespace carina::plan
