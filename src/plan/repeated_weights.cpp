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
// So if the kernels alone, with all weights in fast memory, are much faster than the plan, and the reads of weights
// that have been read before take more than a tenth of it, the network is planned again with memory for these weights.
// The plan is taken if it has a tenth fewer cycles. Other networks are planned once.
//   Example: mobilenet_v2 with weights in flash waits for them in a tenth of 4.3 M cycles, and repeated reads of the
//   weights of its last layers take 0.03 M. So it is planned once.
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
        cost_(schedule, context.family, context.target),
        slow_(cost_.port_of(Space::kConstants)),
        port_bytes_per_cycle_(
            npu::port_bytes_per_cycle(context.target.accelerator.product, context.target.system.ports[slow_])),
        port_latency_(context.target.system.ports[slow_].read_latency_cycles),
        reads_(schedule.storages.size(), 0) {
    for (const Command& command : schedule.order) count(command);
  }
  // What is read more than once: its bytes, and the cycles for which all its reads but the first keep the slow port
  // busy.
  struct Repeated {
    int64_t bytes = 0;
    double cycles = 0;
  };
  [[nodiscard]] Repeated repeated() const {
    Repeated sum;
    for (size_t i = 0; i < reads_.size(); ++i) {
      const Storage& storage = schedule_.storages[i];
      if (reads_[i] <= 1 || storage.space != Space::kConstants) continue;
      sum.bytes += storage.bytes;
      sum.cycles += (reads_[i] - 1) * (static_cast<double>(storage.bytes) / port_bytes_per_cycle_ + port_latency_);
    }
    return sum;
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
  [[nodiscard]] double times_read(const Stripe& stripe, const WeightSlice& slice) const {
    Feed feed;
    for (const CoreStream& core : slice.cores) {
      feed.weight_bytes += static_cast<double>(core.weight_bytes);
      feed.scale_bytes += static_cast<double>(core.scale_bytes);
    }
    const double once = (feed.weight_bytes + feed.scale_bytes) / port_bytes_per_cycle_;
    constexpr double kMoreThanOnce = 1.5;
    const double times = cost_.of(subop_of(schedule_, stripe), stripe.block, feed).port_busy[slow_] / once;
    return times > kMoreThanOnce ? times : 1;
  }

  const Schedule& schedule_;
  KernelCost cost_;
  size_t slow_;  // port of the constants, as the next two
  double port_bytes_per_cycle_;
  double port_latency_;
  std::vector<double> reads_;  // by storage
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
  const Reads::Repeated repeated = Reads(before, context).repeated();
  if (repeated.bytes == 0 || kWorthTheMemory * (cycles - repeated.cycles) > cycles) return unchanged;
  const Space space = working_space(context.target, context.family);
  Context roomy = context;
  const int64_t bytes = space_bytes(before, space) + repeated.bytes;
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
