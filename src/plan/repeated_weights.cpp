// Memory for weights that a network reads again.
//
// Without a limit of the user's, copies of weights may take an eighth more than the tensors need (staging_budget()).
// That is enough for weights that are read once: their copies follow each other through the same memory. The steps of a
// recurrent network read the same weights again, and so does one operation on a long row of pixels, for each of its
// blocks. A copy that stays saves these reads, and one that does not fit saves none.
//
//   Example: a GRU with 128 units and 50 steps, int8, 128 MACs per cycle. Its tensors take 7 kB, its weights 67 kB.
//   With 32 kB, it reads 50 times 67 kB from flash in 2.7 M cycles. With 90 kB, it takes 0.5 M cycles.
//
// So if the kernels alone, with all weights in fast memory, are much faster than the plan, the network is planned again
// with memory for these weights. The plan is taken if it has a tenth fewer cycles. A network that reads no weights
// again is planned once.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "npu/cost/channel.h"
#include "plan/alternatives_internal.h"
#include "plan/cost/kernel_cost.h"
#include "plan/cost/timeline.h"

namespace carina::plan {
namespace {

constexpr double kWorthTheMemory = 1.1;
constexpr int64_t kGaps = 8;  // the share of memory that allocation may lose between storages

// Counts how often stored weights, scales and tables are read from slow memory: in place or by a copy.
class Reads {
 public:
  Reads(const Schedule& schedule, const Context& context)
      : schedule_(schedule),
        context_(context),
        cost_(schedule, context.family, context.target),
        reads_(schedule.storages.size(), 0) {
    for (const Command& command : schedule.order) count(command);
  }
  // The bytes that are read more than once.
  [[nodiscard]] int64_t repeated_bytes() const {
    int64_t bytes = 0;
    for (size_t i = 0; i < reads_.size(); ++i) {
      if (reads_[i] > 1 && schedule_.storages[i].space == Space::kConstants) bytes += schedule_.storages[i].bytes;
    }
    return bytes;
  }

 private:
  void count(const Command& command) {
    const Stripe& stripe = schedule_[command.stripe];
    switch (command.kind) {
      case Command::Kind::kStripe:
        if (stripe.slice.valid()) count(stripe, schedule_[stripe.slice]);
        break;
      case Command::Kind::kLoadTable:
        if (!stripe.staged_table.valid()) ++reads_[table_source(schedule_, stripe).index()];
        break;
      case Command::Kind::kLoadWeights:
      case Command::Kind::kLoadScales:
      case Command::Kind::kStageTable:
        if (command.first_byte == 0) ++reads_[copy_of(schedule_, command).from.index()];
        break;
    }
  }
  void count(const Stripe& stripe, const WeightSlice& slice) {
    if (!slice.staged.valid()) reads_[slice.stored.index()] += times_read(stripe, slice);
    if (slice.scales != slice.stored && !slice.staged_scales.valid()) ++reads_[slice.scales.index()];
  }
  // How often one kernel reads its weights: once for all blocks of some output channels, or again for each of them.
  [[nodiscard]] int times_read(const Stripe& stripe, const WeightSlice& slice) const {
    Feed feed;
    for (const CoreStream& core : slice.cores) {
      feed.weight_bytes += static_cast<double>(core.weight_bytes);
      feed.scale_bytes += static_cast<double>(core.scale_bytes);
    }
    const size_t slow = cost_.port_of(Space::kConstants);
    const npu::MemoryPort& port = context_.target.system.ports[slow];
    const double once =
        (feed.weight_bytes + feed.scale_bytes) / npu::port_bytes_per_cycle(context_.target.accelerator.product, port);
    constexpr double kMoreThanOnce = 1.5;
    return cost_.of(subop_of(schedule_, stripe), stripe.block, feed).port_busy[slow] > kMoreThanOnce * once ? 2 : 1;
  }

  const Schedule& schedule_;
  const Context& context_;
  KernelCost cost_;
  std::vector<int> reads_;  // by storage
};

bool has_a_limit(const Context& context) {
  const bool cache_has_a_size =
      working_space(context.target, context.family) != Space::kArena && context.target.memory.cache_bytes > 0;
  return context.options.arena_budget_bytes > 0 || context.working_bytes > 0 || cache_has_a_size ||
         !context.options.uses(Optimization::kStagedWeights);
}

}  // namespace

Roomy with_room_for_repeated_weights(Finished baseline, const Schedule& stripes, const Material& material,
                                     const Context& context, ThreadPool& threads) {
  Roomy unchanged{.plan = std::move(baseline), .working_bytes = context.working_bytes};
  const Schedule& before = unchanged.plan.schedule;
  if (has_a_limit(context)) return unchanged;
  const double cycles = cost_of(before, context.family, context.target);
  if (kWorthTheMemory * cycles_of_kernels(before, context, context.target) > cycles) return unchanged;
  const int64_t repeated = Reads(before, context).repeated_bytes();
  if (repeated == 0) return unchanged;
  const Space space = working_space(context.target, context.family);
  Context roomy = context;
  const int64_t bytes = space_bytes(before, space) + repeated;
  roomy.working_bytes = bytes + bytes / kGaps;
  auto plan = finish(stripes, material, roomy, threads);
  if (!plan) return unchanged;
  const double faster = cost_of(plan->schedule, context.family, context.target);
  if (kWorthTheMemory * faster > cycles) return unchanged;
  plan->notes.push_back(
      {.where = "weights",
       .what = fmt::format("copies of weights that are read again take {} bytes of the working memory instead of {}, "
                           "for {:.0f} cycles instead of {:.0f}",
                           space_bytes(plan->schedule, space), space_bytes(before, space), faster, cycles),
       .hint = "--arena-budget limits the memory",
       .severity = Severity::kNote});
  return {.plan = *std::move(plan), .working_bytes = roomy.working_bytes};
}

}  // namespace carina::plan
