#include "plan/optimize/prefetch_problem_internal.h"

#include <algorithm>
#include <optional>

#include "base/checked_math.h"
#include "npu/cost/channel.h"
#include "npu/cost/cost.h"
#include "plan/cost/kernel_cost.h"
#include "plan/memory/live_ranges.h"

// Reads a schedule as a prefetch problem: kernels in order, and for each the objects (stored weights and scales) that
// it reads from slow memory, with its cycles for each choice of what is copied.
//
//   Example: a convolution whose weights and scales are stored apart reads two objects. It has four variants: nothing
//   copied, weights, scales, both. With weights in flash it may take 5,000 cycles, and 3,200 with a copy in SRAM. The
//   object states how long the transfer engine copies it.
//
// Loads of lookup tables are fixed copies: they happen anyway, and may begin only when the last kernel that reads the
// slot has finished. A table in slow memory is an object, because a load from a copy is shorter. Memory for copies is,
// for each kernel, the budget without the tensors that are live while it runs. Time: at most four cost evaluations per
// kernel. The problem is all that the search sees, so its tests need no schedule.
namespace carina::plan {
namespace {

class Reader {
 public:
  Reader(const Schedule& schedule, const Context& context, int64_t budget_bytes,
         std::span<const BlockConfig> blocks_for_copies)
      : schedule_(schedule),
        context_(context),
        cost_(schedule, context.family, context.target),
        space_(working_space(context.target, context.family)),
        budget_bytes_(budget_bytes),
        blocks_for_copies_(blocks_for_copies),
        live_(live_bytes(schedule, space_)),
        tables_(context.family.tables(context.target)),
        object_of_(schedule.storages.size()),
        is_of_slices_(schedule.storages.size(), false),
        free_from_(static_cast<size_t>(std::max(1, tables_.slots)), 0) {
    constexpr size_t kHarder = 8, kForSize = 2;
    if (context.options.optimize == Optimize::kSearch) network_.problem.max_work *= kHarder;
    if (context.options.optimize == Optimize::kSize) network_.problem.max_work *= kForSize;
    network_.problem.command_cycles = cost_.transfer(0, Space::kConstants, space_);
    is_slower_ = cost_.port_of(Space::kConstants) != cost_.port_of(space_);
    for (const WeightSlice& slice : schedule.slices) {
      is_of_slices_[slice.stored.index()] = true;
      is_of_slices_[slice.scales.index()] = true;
    }
  }

  StageableNetwork read() && {
    for (const Command& command : schedule_.order) {
      if (command.kind == Command::Kind::kLoadTable) add_table(command);
      if (command.kind == Command::Kind::kStripe) add_stripe(command);
    }
    return std::move(network_);
  }

 private:
  [[nodiscard]] size_t kernels() const { return network_.problem.kernels.size(); }

  void add_table(const Command& command) {
    const PlanTensor& table = schedule_[schedule_.step_of(command).activation.table];
    const auto [first, end] = slots_of(command);
    size_t not_before = 0;
    for (size_t slot = first; slot < end; ++slot) not_before = std::max(not_before, free_from_[slot]);
    FixedCopy load{.kernel = kernels(),
                   .not_before = not_before,
                   .cycles = cost_.transfer(table.bytes(), Space::kConstants, Space::kTables),
                   .cycles_from_copy = cost_.transfer(table.bytes(), space_, Space::kTables)};
    const bool is_alone = !is_of_slices_[table.storage.index()];  // few bytes may equal those of weights
    if (is_slower_ && is_alone && context_.options.uses(Optimization::kStagedTables))
      load.object = object(table.storage);
    network_.problem.fixed.push_back(load);
    network_.table_loads.push_back(command);
  }
  [[nodiscard]] std::pair<size_t, size_t> slots_of(const Command& command) const {
    const int64_t bytes = schedule_[schedule_.step_of(command).activation.table].bytes();
    const auto first = static_cast<size_t>(std::max(0, command.slot));
    const auto count = static_cast<size_t>(ceil_div<int64_t>(bytes, npu::kLutSlotBytes));
    return {first, std::min(first + count, free_from_.size())};
  }

  void add_stripe(const Command& command) {
    const Stripe& stripe = schedule_[command.stripe];
    std::optional<Step> part;
    const Step& subop = subop_in(schedule_, stripe, part);
    PrefetchKernel kernel{.free_bytes = budget_bytes_ - live_[kernels()]};
    if (subop.kind == StepKind::kDma) {
      kernel.variants.fill(transfer(subop));
    } else {
      time(kernel, subop, command.stripe);
    }
    occupy_tables(command, subop);
    network_.problem.kernels.push_back(kernel);
    network_.stripes.push_back(command.stripe);
  }
  // A table keeps its memory until the last kernel that reads it.
  void occupy_tables(const Command& command, const Step& subop) {
    if (subop.uses_table()) {
      const auto [first, end] = slots_of(command);
      std::fill(free_from_.begin() + static_cast<std::ptrdiff_t>(first),
                free_from_.begin() + static_cast<std::ptrdiff_t>(end), kernels() + 1);
    } else if (tables_.shared_with_accumulators && subop.kind != StepKind::kDma) {
      std::ranges::fill(free_from_, kernels() + 1);
    }
  }

  // Constants have no storage before slices are encoded.
  [[nodiscard]] Space space_of(TensorId id) const {
    return schedule_[id].storage.valid() ? schedule_.space_of(id) : Space::kConstants;
  }
  // A transfer of the network itself leaves the transfer engine no time for copies.
  [[nodiscard]] PrefetchKernel::Variant transfer(const Step& subop) const {
    const double cycles = cost_.transfer(subop.dma_bytes, space_of(subop.ifm.tensor), space_of(subop.ofm.tensor));
    return {.cycles = cycles, .slow_port_cycles = cycles};
  }

  void time(PrefetchKernel& kernel, const Step& subop, StripeId id) {
    const Stripe& stripe = schedule_[id];
    Feed feed;
    size_t weights_bit = 0, scales_bit = 0;  // bits of masks: 0 if never copied
    Space weights_in = Space::kConstants;
    const auto copyable = [&](StorageId storage) {
      if (!is_slower_ || schedule_[storage].space != Space::kConstants) return size_t{0};
      kernel.objects[kernel.reads] = object(storage);
      return size_t{1} << kernel.reads++;
    };
    if (stripe.slice.valid()) {
      const WeightSlice& slice = schedule_[stripe.slice];
      feed = feed_of(subop, stripe.block, slice);
      weights_in = schedule_[slice.stored].space;
      weights_bit = copyable(slice.stored);
      scales_bit = slice.scales == slice.stored ? weights_bit : copyable(slice.scales);
    }
    const size_t slow = cost_.port_of(Space::kConstants);
    OperationCost operation(cost_, subop);
    for (size_t mask = 0; mask < size_t{1} << kernel.reads; ++mask) {
      feed.weights_from = (mask & weights_bit) != 0 ? space_ : weights_in;
      feed.scales_from = (mask & scales_bit) != 0 ? space_ : Space::kConstants;
      const bool copied = mask != 0 && !blocks_for_copies_.empty();
      const KernelCycles cycles = operation.of(copied ? blocks_for_copies_[id.index()] : stripe.block, feed);
      kernel.variants[mask] = {.cycles = cycles.total, .slow_port_cycles = cycles.port_busy[slow]};
    }
  }
  [[nodiscard]] Feed feed_of(const Step& subop, const BlockConfig& block, const WeightSlice& slice) const {
    Feed feed = expected_feed(subop, block, context_);
    feed.weight_bytes = feed.scale_bytes = 0;
    for (const CoreStream& core : slice.cores) {
      feed.weight_bytes += static_cast<double>(core.weight_bytes);
      feed.scale_bytes += static_cast<double>(core.scale_bytes);
    }
    return feed;
  }

  size_t object(StorageId storage) {
    std::optional<size_t>& object = object_of_[storage.index()];
    if (object) return *object;
    object = network_.problem.objects.size();
    const int64_t bytes = schedule_[storage].bytes;
    const npu::MemoryPort& port = context_.target.system.ports[cost_.port_of(Space::kConstants)];
    const npu::AcceleratorConfig& npu = context_.target.accelerator;
    network_.problem.objects.push_back(
        {.bytes = bytes,
         .cycles = cost_.transfer(bytes, Space::kConstants, space_),
         .port_share = npu::channel_bytes_per_cycle(npu, port, npu::ReadChannel::kTransfers) /
                       npu::port_bytes_per_cycle(npu.product, port)});
    network_.storages.push_back(storage);
    return *object;
  }

  const Schedule& schedule_;
  const Context& context_;
  KernelCost cost_;
  Space space_;
  int64_t budget_bytes_;
  std::span<const BlockConfig> blocks_for_copies_;
  bool is_slower_ = false;
  std::vector<int64_t> live_;  // by kernel
  TableMemory tables_;
  std::vector<std::optional<size_t>> object_of_;  // by storage
  std::vector<bool> is_of_slices_;                // by storage
  std::vector<size_t> free_from_;                 // by slot: the kernel after the last one that needs its table
  StageableNetwork network_;
};

}  // namespace

StageableNetwork stageable(const Schedule& schedule, const Context& context, int64_t budget_bytes,
                           std::span<const BlockConfig> blocks_for_copies) {
  return Reader(schedule, context, budget_bytes, blocks_for_copies).read();
}

}  // namespace carina::plan
