#include "plan/schedule/cost.h"

#include <algorithm>

#include "base/checked_math.h"
#include "npu/cost.h"

namespace carina::plan {
namespace {

// Sizes of one block, clipped to the tensors, counted in ublocks.
struct Counts {
  int64_t height, width, depth;  // elements of the OFM block
  int64_t ublocks_flat;          // in height and width
  int64_t ublocks_deep;
  int64_t ifm_depth;  // of the input block
  double blocks;      // fractional number of blocks in the OFM
};

const npu::Block3& ublock_of(const BlockConfig& block, const npu::AcceleratorConfig& npu) {
  for (int i = 1; i < npu.ofm_ublock_count; ++i) {
    const npu::OfmUblock& u = npu.ofm_ublocks[static_cast<size_t>(i)];
    if (u.code == block.ublock) return u.block;
  }
  return npu.ofm_ublocks[0].block;
}

bool has_no_macs(const Step& op) {
  return op.kind == StepKind::kElementwise || op.kind == StepKind::kResize;
}

Counts counts_of(const Step& op, const BlockConfig& b, const npu::Block3& in, const Target& target) {
  const npu::Block3& u = ublock_of(b, target.accelerator);
  Counts c{};
  c.height = std::min(b.height, op.ofm.height);
  c.width = std::min(b.width, op.ofm.width);
  c.depth = std::min(b.depth, op.ofm.depth);
  c.ublocks_flat = ceil_div<int64_t>(c.height, u.height) * ceil_div<int64_t>(c.width, u.width);
  c.ublocks_deep = ceil_div<int64_t>(c.depth, u.depth);
  c.ifm_depth = std::min<int64_t>(in.depth, op.ifm.depth);
  const auto share = [](int64_t whole, int64_t part) {
    return std::max(1.0, static_cast<double>(whole) / static_cast<double>(part));
  };
  c.blocks = share(op.ofm.height, c.height) * share(op.ofm.width, c.width) * share(op.ofm.depth, c.depth);
  return c;
}

npu::MacKind mac_kind(const Step& op, const BlockConfig& b) {
  if (op.kind == StepKind::kDepthwise) return npu::MacKind::kDepthwise;
  if (op.kind == StepKind::kPool && !op.sums_over_depth()) return npu::MacKind::kPool;
  return b.order == npu::WeightOrder::PART_KERNEL_FIRST ? npu::MacKind::kPartKernel : npu::MacKind::kDepthFirst;
}

double mac_cycles(const Step& op, const BlockConfig& b, const Target& target, const Counts& c) {
  if (has_no_macs(op)) return 0;
  return npu::mac_cycles({.npu = target.accelerator,
                          .kind = mac_kind(op, b),
                          .ifm_bits = op.ifm.type.bits,
                          .kernel_height = op.kernel.height,
                          .kernel_width = op.kernel.width,
                          .ublocks_xy = c.ublocks_flat,
                          .ublocks_z = c.ublocks_deep,
                          .ublock_depth = ublock_of(b, target.accelerator).depth,
                          .ifm_block_depth = c.ifm_depth,
                          .ifm_depth = op.ifm.depth,
                          .cores = target.accelerator.cores},
                         npu::kSearchCost);
}

npu::OutputWork::Kind output_kind(const Step& op) {
  using enum npu::OutputWork::Kind;
  using Mode = npu::ElementwiseMode;
  if (op.kind == StepKind::kPool && op.pool == npu::PoolingMode::MAX) return kMaxPool;
  if (op.kind != StepKind::kElementwise) return kOther;
  if (op.elementwise == Mode::MUL) return kMul;
  if (op.elementwise == Mode::ADD || op.elementwise == Mode::SUB) return kAddSub;
  return op.second == SecondOperand::kNone ? kUnary : kBinary;
}

double output_cycles_per_element(const Step& op, const Target& target) {
  auto activation = npu::ActivationKind::kNone;
  if (op.uses_table())
    activation = npu::ActivationKind::kTable;
  else if (op.activation.min > op.ofm.type.min() || op.activation.max < op.ofm.type.max())
    activation = npu::ActivationKind::kRelu;
  return npu::output_cycles_per_element({.npu = target.accelerator,
                                         .kind = output_kind(op),
                                         .ifm_bits = op.ifm.type.bits,
                                         .ofm_bits = op.ofm.type.bits,
                                         .acc_bits = op.acc == AccWidth::kWide ? 40 : 32,
                                         .activation = activation,
                                         .cores = target.accelerator.cores});
}

double map_bytes(const FeatureMap& map) {
  return static_cast<double>(map.height * map.width * map.depth * map.type.bytes());
}

double ifm_bytes(const Step& op, const npu::Block3& in, const Counts& c) {
  if (has_no_macs(op)) return map_bytes(op.ifm);
  const double area =
      static_cast<double>(std::min<int64_t>(in.height, op.ifm.height) * std::min<int64_t>(in.width, op.ifm.width));
  const double depth = static_cast<double>(op.kind == StepKind::kConv ? op.ifm.depth : c.depth);
  return area * depth * c.blocks * static_cast<double>(op.ifm.type.bytes());
}

}  // namespace

StripeCost cost_of(const Step& op, const BlockConfig& b, const Family& family, const Target& target) {
  const npu::Block3 in = family.input_block(op, b, target);
  const Counts c = counts_of(op, b, in, target);
  const npu::PipelineWork work{
      .mac_cycles = mac_cycles(op, b, target, c),
      .output_cycles = output_cycles_per_element(op, target) * static_cast<double>(c.height * c.width * c.depth),
      .blocks = c.blocks};
  return {.npu_cycles = has_no_macs(op) ? npu::elementwise_cycles(work, npu::kSearchCost)
                                        : npu::pipeline_cycles(work, npu::kSearchCost),
          .ofm_bytes = map_bytes(op.ofm),
          .ifm_bytes = ifm_bytes(op, in, c),
          .ifm2_bytes = op.reads_second_map() ? map_bytes(op.ifm2) : 0,
          .weight_fetches = ceil_div(op.ofm.height, b.height) * ceil_div(op.ofm.width, b.width)};
}

PortSpeed speed_of(Space space, const Family& family, const Target& target) {
  const auto spaces = family.spaces(target);
  CARINA_CHECK(spaces && (*spaces)[static_cast<size_t>(space)], "the target has no such space");
  const npu::MemoryPort& port = target.system.ports[(*spaces)[static_cast<size_t>(space)]->port];
  return {.bytes_per_cycle = npu::port_bytes_per_cycle(target.accelerator.product, port),
          .map_read_bytes_per_cycle = npu::map_read_bytes_per_cycle(target.accelerator, port),
          .read_latency_cycles = port.read_latency_cycles};
}

class Timeline::Builder {
 public:
  Builder(Timeline& timeline, const Schedule& schedule, const Family& family, const Target& target)
      : timeline_(timeline),
        schedule_(schedule),
        family_(family),
        target_(target),
        slow_(speed_of(Space::kConstants, family, target)),
        fast_(speed_of(working_space(target, family), family, target)),
        arena_is_slow_(working_space(target, family) != Space::kArena),
        copy_of_(schedule.storages.size()) {}

  void add(const Stripe& stripe) {
    const Step piece = piece_of(schedule_, stripe);
    Work work{.transfers = piece.uses_table() || piece.kind == StepKind::kDma};
    if (piece.kind != StepKind::kDma) time(work, piece, stripe);
    timeline_.works_.push_back(work);
  }
  void add_load(const Command& command, size_t from) {
    const auto copy = copy_of_[schedule_.slice_of(command)->stored.index()];
    CARINA_CHECK(copy.has_value(), "a copy that nobody reads");
    timeline_.start_copy(*copy, from);
  }

 private:
  void time(Work& work, const Step& piece, const Stripe& stripe) {
    const StripeCost cost = cost_of(piece, stripe.block, family_, target_);
    const auto [near, far] = map_cycles(piece, cost);
    const int64_t bytes = stripe.slice.valid() ? schedule_[schedule_[stripe.slice].stored].bytes : 0;
    const double weights = static_cast<double>(bytes) * static_cast<double>(cost.weight_fetches);
    work.in_place = std::max({cost.npu_cycles, near, far + weights / slow_.bytes_per_cycle});
    work.staged = std::max({cost.npu_cycles, near + weights / fast_.bytes_per_cycle, far});
    work.slow_reads = weights / slow_.bytes_per_cycle;
    if (!piece.is_convolution() || !stripe.slice.valid() || piece.reads_written_weights()) return;
    work.copy = copy_of(schedule_[stripe.slice].stored, bytes);
    timeline_.copies_[*work.copy].users.push_back(timeline_.works_.size());
  }
  // Feature maps in fast memory and in slow memory, which are accessed beside each other.
  [[nodiscard]] std::pair<double, double> map_cycles(const Step& piece, const StripeCost& cost) const {
    double near = 0, far = 0;
    const auto add = [&](const FeatureMap& map, double bytes) {
      const bool slow = is_slow(map.tensor);
      (slow ? far : near) += bytes / (slow ? slow_ : fast_).bytes_per_cycle;
    };
    add(piece.ofm, cost.ofm_bytes);
    add(piece.ifm, cost.ifm_bytes);
    if (piece.reads_second_map()) add(piece.ifm2, cost.ifm2_bytes);
    return {near, far};
  }
  [[nodiscard]] bool is_slow(TensorId id) const {
    if (schedule_[id].kind == TensorKind::kConstant) return true;
    return arena_is_slow_ && schedule_.space_of(id) == Space::kArena;
  }
  size_t copy_of(StorageId stored, int64_t bytes) {
    std::optional<size_t>& copy = copy_of_[stored.index()];
    if (copy) return *copy;
    copy = timeline_.copies_.size();
    const double cycles =
        npu::access_cycles(static_cast<double>(bytes), slow_.bytes_per_cycle, slow_.read_latency_cycles);
    timeline_.copies_.push_back({.bytes = bytes, .cycles = cycles});
    return *copy;
  }

  Timeline& timeline_;
  const Schedule& schedule_;
  const Family& family_;
  const Target& target_;
  PortSpeed slow_;
  PortSpeed fast_;
  bool arena_is_slow_;
  std::vector<std::optional<size_t>> copy_of_;  // by storage
};

Timeline::Timeline(const Schedule& schedule, const Family& family, const Target& target) {
  Builder builder(*this, schedule, family, target);
  for (const Command& command : schedule.order) {
    if (command.kind == Command::Kind::kStripe) builder.add(schedule[command.stripe]);
  }
  loads_.resize(works_.size());
  size_t next = 0;
  for (const Command& command : schedule.order) {
    if (command.kind == Command::Kind::kStripe) ++next;
    if (command.kind == Command::Kind::kLoadWeights) builder.add_load(command, next);
  }
}

void Timeline::start_copy(size_t copy, std::optional<size_t> from) {
  std::optional<size_t>& now = copies_[copy].from;
  if (now) std::erase(loads_[*now], copy);
  now = from;
  if (!from) return;
  auto& loads = loads_[*from];
  loads.insert(std::ranges::upper_bound(loads, copy), copy);
}

// Transfers run one after the other beside the stripes, and share slow memory with stripes that read their weights from
// it. One that stands before a stripe starts with it: its place in the arena may be in use until then.
double Timeline::cycles() const {
  std::vector<double> ready(copies_.size(), 0);
  std::vector<size_t> running;  // copies that are under way
  double now = 0, dma_end = 0;
  for (size_t i = 0; i < works_.size(); ++i) {
    const Work& work = works_[i];
    double issue = now;
    if (work.transfers) issue = std::max(issue, dma_end);
    for (const size_t k : loads_[i]) {
      issue = std::max(issue, dma_end);  // one transfer at a time; the parser waits with the next
      ready[k] = dma_end = issue + copies_[k].cycles;
      running.push_back(k);
    }
    const bool staged = work.copy && copies_[*work.copy].from.has_value();
    double start = std::max(now, issue);
    if (staged) start = std::max(start, ready[*work.copy]);
    std::erase_if(running, [&](size_t k) { return ready[k] <= start; });
    if (work.copy && !staged && !running.empty()) {
      for (const size_t k : running) ready[k] += work.slow_reads;
      dma_end += work.slow_reads;
    }
    now = start + (staged ? work.staged : work.in_place);
  }
  return std::max(now, dma_end);
}

double cost_of(const Schedule& schedule, const Family& family, const Target& target) {
  return Timeline(schedule, family, target).cycles();
}

}  // namespace carina::plan
