#include "plan/cost/kernel_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/checked_math.h"
#include "npu/cost/channel.h"
#include "npu/cost/cost.h"
#include "npu/cost/traffic.h"
#include "plan/cost/cost.h"
#include "plan/network/transposed_map.h"

namespace carina::plan {

// The division of an operation into blocks.
struct OperationCost::Geometry {
  npu::Block3 block;      // of the OFM, clipped to it
  npu::Block3 ifm_block;  // clipped
  int64_t ublocks_xy = 1;
  int64_t ublocks_z = 1;
  double blocks = 1;
  int64_t blocks_xy = 1;
  int64_t blocks_z = 1;
};

// The load of one port. All accesses of an operation share its bandwidth; each channel may also have a limit of its
// own.
struct OperationCost::PortLoad {
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

// The rows and the columns of the IFM that the blocks of an operation with a window read.
int64_t row_reads(const Step& op, int64_t block_height) {
  const Kernel& k = op.kernel;
  return npu::window_reads({.ofm = op.ofm.height,
                            .block = block_height,
                            .taps = k.height,
                            .dilation = k.dilation_y,
                            .stride = k.stride_y,
                            .padding = op.padding.top,
                            .ifm = op.ifm.height,
                            .upscale = op.upscale});
}
int64_t column_reads(const Step& op, int64_t block_width) {
  const Kernel& k = op.kernel;
  return npu::window_reads({.ofm = op.ofm.width,
                            .block = block_width,
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

KernelCost::KernelCost(const Schedule& schedule, const Family& family, const Target& target,
                       const npu::CostDetail& detail)
    : schedule_(schedule), family_(family), target_(target), detail_(detail) {
  const auto spaces = family.spaces(target);
  CARINA_CHECK(spaces.has_value(), "the target was not checked");
  for (size_t i = 0; i < kSpaces; ++i) {
    if ((*spaces)[i]) ports_[i] = (*spaces)[i]->port;
  }
  using enum npu::ReadChannel;
  for (size_t i = 0; i < speeds_.size(); ++i) {
    const npu::MemoryPort& port = target.system.ports[i];
    speeds_[i].port = npu::port_bytes_per_cycle(target.accelerator.product, port);
    for (const npu::ReadChannel channel : {kFeatureMaps, kWeights, kFastWeights, kScales, kTransfers})
      speeds_[i].channels[static_cast<size_t>(channel)] =
          npu::channel_bytes_per_cycle(target.accelerator, port, channel);
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

KernelCycles KernelCost::of(const Step& op, const BlockConfig& b, const Feed& feed, double max_cycles) const {
  return OperationCost(*this, op).of(b, feed, max_cycles);
}

OperationCost::Operand OperationCost::operand(const FeatureMap& map) const {
  const PlanTensor& tensor = cost_.schedule_[map.tensor];
  const Space space = tensor.storage.valid()                 ? cost_.schedule_[tensor.storage].space
                      : tensor.kind == TensorKind::kConstant ? Space::kConstants
                                                             : Space::kArena;
  return {.map = &map,
          .bricks = tensor.format == Format::kNhcwb16,
          .chained = space == Space::kChaining,
          .port = cost_.port_of(space),
          .element_bytes = static_cast<double>(map.type.bytes())};
}

OperationCost::OperationCost(const KernelCost& cost, const Step& op)
    : cost_(cost),
      op_(op),
      npu_(cost.target_.accelerator),
      has_no_macs_(has_no_macs(op)),
      ofm_(operand(op.ofm)),
      ifm_(operand(op.ifm)),
      ifm2_(op.reads_second_map() ? operand(op.ifm2) : Operand{}),
      output_cycles_(output_cycles_per_element(op, cost.target_, ofm_.chained)) {}

// Blocks mostly follow others of the same order.
const OperationCost::Order& OperationCost::order_of(const BlockConfig& b) {
  const BlockConfig key{.depth = b.depth, .order = b.order, .ublock = b.ublock, .sparsity = b.sparsity};
  if (order_.key == key) return order_;
  order_ = {.key = key, .mac = mac_kind(op_, b), .ublock = npu_.ofm_ublocks[0].block};
  for (int i = 1; i < npu_.ofm_ublock_count; ++i) {
    const npu::OfmUblock& u = npu_.ofm_ublocks[static_cast<size_t>(i)];
    if (u.code == b.ublock) order_.ublock = u.block;
  }
  // Parts with two rows of MAC units use both rows on tensors of height one.
  if (npu_.ofm_ublock_count == 1 && order_.ublock.height == 2 && op_.is_convolution() && op_.ofm.height == 1 &&
      op_.ofm.width % 2 == 0 && op_.kernel.height == 1)
    order_.ublock = {.height = 1, .width = 4, .depth = order_.ublock.depth};
  if (!has_no_macs_ && op_.sums_over_depth()) order_.ifm_depth = cost_.family_.input_block(op_, b, cost_.target_).depth;
  order_.weights = npu::decoded_weights({.npu = npu_,
                                         .kind = order_.mac,
                                         .ifm_bits = op_.ifm.type.bits,
                                         .ublock_depth = order_.ublock.depth,
                                         .taps = op_.kernel.taps(),
                                         .ifm_depth = op_.ifm.depth,
                                         .ofm_depth = op_.ofm.depth,
                                         .sparse_weights = is_sparse(b)});
  return order_;
}

OperationCost::Geometry OperationCost::geometry(const BlockConfig& b, const Order& order) const {
  Geometry g;
  const npu::Block3 whole{
      .height = static_cast<int>(b.height), .width = static_cast<int>(b.width), .depth = static_cast<int>(b.depth)};
  const FeatureMap &ofm = op_.ofm, &ifm = op_.ifm;
  g.block = clipped(whole, ofm.height, ofm.width, ofm.depth);
  const auto along = [&](int64_t block, int64_t stride, int64_t extent) {
    const int64_t window = (block - 1) * stride + std::min<int64_t>(extent, npu::kSubkernelSize);
    return static_cast<int>(ceil_div(window + op_.upscale - 1, op_.upscale));
  };
  const Kernel& k = op_.kernel;
  g.ifm_block = has_no_macs_ ? g.block
                             : clipped({.height = along(g.block.height, k.stride_y, k.extent_h()),
                                        .width = along(g.block.width, k.stride_x, k.extent_w()),
                                        .depth = op_.sums_over_depth() ? order.ifm_depth : g.block.depth},
                                       ifm.height, ifm.width, ifm.depth);
  const auto count = [](int64_t size, int64_t part) {
    return static_cast<int64_t>(ceil_div(static_cast<uint32_t>(size), static_cast<uint32_t>(part)));
  };
  const npu::Block3& u = order.ublock;
  g.ublocks_xy = count(g.block.width, u.width) * count(g.block.height, u.height);
  g.ublocks_z = count(g.block.depth, u.depth);
  g.blocks = static_cast<double>(count(ofm.width, u.width) * count(ofm.height, u.height)) *
             static_cast<double>(count(ofm.depth, u.depth)) / static_cast<double>(g.ublocks_xy * g.ublocks_z);
  g.blocks_xy = count(ofm.width, g.block.width) * count(ofm.height, g.block.height);
  g.blocks_z = count(ofm.depth, g.block.depth);
  return g;
}

// ---- Memory ----

double OperationCost::bus_bytes(const Operand& what, int64_t stride_x, const npu::Block3& block, double bytes,
                                bool writes) const {
  const double es = what.element_bytes;
  const double cores = writes ? npu_.cores : 1;
  double run = es * block.depth;
  if (what.bricks) {
    run = es * npu::kBrickDepth * block.width * cores;
  } else if (stride_x == block.depth) {
    run *= block.width;
  } else if (writes) {
    run = std::min({64.0, npu::kBrickDepth * es * cores, run});
  }
  return npu::bus_bytes({.bytes = bytes,
                         .run_bytes = run,
                         .burst_bytes = cost_.target_.system.ports[what.port].burst_bytes,
                         .beat_bytes = cost_.target_.limits().axi_port_bytes});
}

double OperationCost::write_cycles(const npu::Block3& block, double bytes) const {
  const double width = cost_.speeds_[ofm_.port].port;
  if (!ofm_.map->is_transposed()) return bus_bytes(ofm_, ofm_.map->stride_x, block, bytes, true) / width;
  FeatureMap map = *ofm_.map;
  map.height = block.height;
  map.width = block.width;
  map.depth = block.depth;
  const FeatureMap stored = transposed_map(map).stored;
  const npu::Block3 part{.height = static_cast<int>(stored.height),
                         .width = static_cast<int>(stored.width),
                         .depth = static_cast<int>(stored.depth)};
  return bus_bytes(ofm_, stored.stride_x, part, bytes, true) / width;
}

double OperationCost::first_read(const Operand& what, const npu::Block3& block) const {
  if (what.chained) return 0;
  const double bytes = bus_bytes(what, what.map->stride_x, block, elements(block) * what.element_bytes, false);
  return cost_.target_.system.ports[what.port].read_latency_cycles +
         bytes / cost_.speed(what.port, npu::ReadChannel::kFeatureMaps);
}

double OperationCost::last_write(const npu::Block3& block) const {
  if (ofm_.chained) return 0;
  return cost_.target_.system.ports[ofm_.port].write_latency_cycles +
         write_cycles(block, elements(block) * ofm_.element_bytes);
}

// The elements that all blocks of an elementwise operation read of one operand. Each block reads its part of the
// operand, broadcast or not.
double OperationCost::elementwise_reads(const Operand& what, const Broadcast& repeated, const Geometry& g) const {
  const auto along = [](bool broadcast, int64_t whole, int64_t part) {
    return broadcast ? ceil_div(whole, part) : whole;
  };
  const double depth = repeated.depth ? stored_depth(what.bricks, 1) * static_cast<double>(g.blocks_z)
                                      : stored_depth(what.bricks, op_.ofm.depth);
  return static_cast<double>(along(repeated.height, op_.ofm.height, g.block.height) *
                             along(repeated.width, op_.ofm.width, g.block.width)) *
         depth;
}

// The IFM's positions that the blocks of an operation with a window read. Blocks of one height follow each other, with
// the same widths as those before them.
int64_t OperationCost::plane_reads(const npu::Block3& block) {
  if (std::exchange(height_, block.height) != block.height) row_reads_ = row_reads(op_, block.height);
  const auto width = static_cast<size_t>(block.width);
  if (width >= column_reads_.size()) column_reads_.resize(width + 1, 0);
  if (column_reads_[width] == 0) column_reads_[width] = column_reads(op_, block.width);
  return row_reads_ * column_reads_[width];
}

void OperationCost::add_maps(const Geometry& g, const Order& order, PortLoad& load) {
  const auto read = [&](const Operand& what, double stored, const npu::Block3& block) {
    if (what.chained) return;
    const double bytes = bus_bytes(what, what.map->stride_x, block, stored * what.element_bytes, false);
    load.add(what.port, bytes / cost_.speeds_[what.port].port,
             bytes / cost_.speed(what.port, npu::ReadChannel::kFeatureMaps));
  };
  const Step& op = op_;
  if (!ofm_.chained) {
    const double written = stored_elements(ofm_.bricks, op.ofm.height, op.ofm.width, op.ofm.depth);
    const double cycles = write_cycles(g.block, written * ofm_.element_bytes);
    load.add(ofm_.port, cycles, cycles);
  }
  if (has_no_macs_) {
    read(ifm_, elementwise_reads(ifm_, op.first_broadcast, g), broadcast_part(g.block, op.first_broadcast));
    if (op.reads_second_map())
      read(ifm2_, elementwise_reads(ifm2_, op.broadcast, g), broadcast_part(g.block, op.broadcast));
    return;
  }
  if (op.kind == StepKind::kPool && op.pool == npu::PoolingMode::NONE) return;  // its IFM registers are a dummy
  const bool all_depth = op.sums_over_depth();
  const int64_t times =
      all_depth
          ? npu::depth_reads({.ifm_depth = op.ifm.depth, .ifm_block_depth = order.ifm_depth, .ofm_blocks = g.blocks_z})
          : 1;
  const double depth = stored_depth(ifm_.bricks, all_depth ? op.ifm.depth : op.ofm.depth);
  read(ifm_, static_cast<double>(plane_reads(g.block) * times) * depth, g.ifm_block);
  if (op.reads_second_map())
    read(ifm2_, stored_elements(ifm2_.bricks, op.ifm2.height, op.ifm2.width, op.ifm2.depth), g.block);
}

void OperationCost::add_feed(const Geometry& g, const BlockConfig& b, const Feed& feed, PortLoad& load) const {
  const auto add = [&](double bytes, Space from, npu::ReadChannel channel) {
    const size_t port = cost_.port_of(from);
    load.add(port, bytes / cost_.speeds_[port].port, bytes / cost_.speed(port, channel));
  };
  add(feed.weight_bytes * static_cast<double>(g.blocks_xy), feed.weights_from,
      is_fast(b) ? npu::ReadChannel::kFastWeights : npu::ReadChannel::kWeights);
  add(feed.scale_bytes * static_cast<double>(g.blocks_xy), feed.scales_from, npu::ReadChannel::kScales);
}

// ---- Operations ----

double OperationCost::block_cycles(const BlockConfig& b, const Geometry& g, const Order& order,
                                   const Feed& feed) const {
  const double mac = npu::mac_cycles(
      {.npu = npu_,
       .kind = order.mac,
       .ifm_bits = op_.ifm.type.bits,
       .acc_bits = acc_bits(op_),
       .kernel_height = op_.kernel.height,
       .kernel_width = op_.kernel.width,
       .ublocks_xy = g.ublocks_xy,
       .ublocks_z = g.ublocks_z,
       .ublock_depth = order.ublock.depth,
       .is_one_ublock_wide_or_high = g.block.width <= order.ublock.width || g.block.height <= order.ublock.height,
       .ifm_block_depth = g.ifm_block.depth,
       .ifm_depth = op_.ifm.depth,
       .weight_streams = npu_.weight_decoders,
       .sparse_weights = is_sparse(b),
       .cores = npu_.cores},
      cost_.detail_);
  double output = std::ceil(output_cycles_ * elements(g.block));
  if (feed.scale_bytes != 0)
    output = std::max(output, static_cast<double>(npu::kScaleEntryBytes) * g.block.depth *
                                  cost_.target_.system.ports[cost_.port_of(feed.scales_from)].read_latency_cycles /
                                  npu::kBiasLatencyDivisor);
  return npu::pipeline_cycles({.mac_cycles = mac,
                               .output_cycles = output,
                               .blocks = g.blocks,
                               .first_read_cycles = first_read(ifm_, g.ifm_block),
                               .last_write_cycles = last_write(g.block)},
                              cost_.detail_);
}

// The pipeline of block_cycles() without its MAC stage.
double OperationCost::elementwise_cycles(const Geometry& g, const Order& order) const {
  const auto processed = [&](int64_t height, int64_t width, int64_t depth) {
    const npu::ElementwiseDepth what{.bricks = ofm_.bricks, .depth = depth, .ublock_depth = order.ublock.depth};
    return static_cast<double>(height * width * npu::elementwise_depth(what, cost_.detail_));
  };
  const double block = processed(g.block.height, g.block.width, g.block.depth);
  double first = first_read(ifm_, broadcast_part(g.block, op_.first_broadcast));
  if (op_.reads_second_map()) first = std::max(first, first_read(ifm2_, broadcast_part(g.block, op_.broadcast)));
  return npu::elementwise_cycles({.output_cycles = output_cycles_ * block,
                                  .blocks = processed(op_.ofm.height, op_.ofm.width, op_.ofm.depth) / block,
                                  .first_read_cycles = first,
                                  .last_write_cycles = last_write(g.block)},
                                 cost_.detail_);
}

KernelCycles OperationCost::of(const BlockConfig& b, const Feed& feed, double max_cycles) {
  constexpr double kTooMany = std::numeric_limits<double>::infinity();
  const Order& order = order_of(b);
  const Geometry g = geometry(b, order);
  double npu = has_no_macs_ ? elementwise_cycles(g, order) : block_cycles(b, g, order, feed);
  if (npu > max_cycles) return {.total = kTooMany};
  const double multiplying = npu;
  if (feed.weight_bytes != 0)
    npu = std::max(npu, npu::decode_cycles({.npu = npu_,
                                            .port = cost_.target_.system.ports[cost_.port_of(feed.weights_from)],
                                            .weights = order.weights,
                                            .zero_rate = feed.zero_rate,
                                            .encoded_bytes = feed.weight_bytes,
                                            .fast = is_fast(b),
                                            .planes = g.blocks_xy}));
  if (npu > max_cycles) return {.total = kTooMany};
  PortLoad load;
  add_maps(g, order, load);
  add_feed(g, b, feed, load);
  KernelCycles cycles{.total = npu, .multiplying = multiplying, .port_busy = load.shared};
  for (size_t port = 0; port < load.shared.size(); ++port)
    cycles.total = std::max({cycles.total, load.shared[port], load.slowest[port]});
  return cycles;
}

namespace {

// The step's feature maps are in two storages of these spaces; ifm2 is in that of ifm.
template <typename FeedOf>
double cycles_of_cheapest_block(Step step, const Family& family, const Target& target, const MapSpaces& spaces,
                                const FeedOf& feed_of) {
  Schedule schedule;
  for (const Space space : {spaces.ofm, spaces.ifm}) {
    schedule.tensors.push_back({.storage = StorageId(schedule.storages.size())});
    schedule.storages.push_back({.space = space});
  }
  step.ofm.tensor = TensorId(0);
  step.ifm.tensor = step.ifm2.tensor = TensorId(1);
  const KernelCost cost(schedule, family, target);
  OperationCost operation(cost, step);
  double cycles = std::numeric_limits<double>::infinity();
  for (const BlockConfig& block : family.legal_blocks(step, target))
    cycles = std::min(cycles, operation.of(block, feed_of(step, block), cycles).total);
  return cycles;
}

}  // namespace

double cheapest_cycles(Step step, const Family& family, const Target& target, const MapSpaces& spaces,
                       const std::optional<WeightFacts>& weights) {
  const Space working = working_space(target, family);
  const auto feed_of = [&](const Step& subop, const BlockConfig& block) {
    Feed feed = weights ? expected_feed(subop, block, family, target, *weights) : Feed{};
    feed.weights_from = feed.scales_from = working;
    return feed;
  };
  return cycles_of_cheapest_block(std::move(step), family, target, spaces, feed_of);
}

double cheapest_cycles(Step step, const Family& family, const Target& target) {
  const Space working = working_space(target, family);
  Feed feed;
  if (step.per_channel) feed.scale_bytes = static_cast<double>(npu::kScaleEntryBytes * step.ofm.depth);
  return cycles_of_cheapest_block(std::move(step), family, target, {.ofm = working, .ifm = working},
                                  [&](const Step&, const BlockConfig&) { return feed; });
}

}  // namespace carina::plan
