// Memory for weights that a network reads again.
//
// Without a limit of the user's, copies of weights may take an eighth more than the tensors need (staging_budget()).
// That is enough for weights that are read once: their copies follow each other through the same memory. The steps of a
// recurrent network read the same weights again. A copy that stays saves a read in each step, and one that does not fit
// saves none.
//
//   Example: a GRU with 128 units and 50 steps, int8, 128 MACs per cycle. Its tensors take 7 kB, its weights 67 kB.
//   With 32 kB, it reads 50 times 67 kB from flash in 2.7 M cycles. With 90 kB, it takes 0.5 M cycles.
//
// So if the kernels alone, with all weights in fast memory, are much faster than the plan, the network is planned again
// with memory for these weights. The plan is taken if it has a tenth fewer cycles. A network that reads no weights
// again is planned once, as before.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "plan/alternatives_internal.h"
#include "plan/cost/timeline.h"

namespace carina::plan {
namespace {

constexpr double kWorthTheMemory = 1.1;
constexpr int64_t kGaps = 8;  // the share of memory that allocation may lose between storages

// The bytes of stored weights, scales and tables that are read from slow memory more than once: in place or by a copy.
int64_t repeated_bytes(const Schedule& schedule) {
  std::vector<int> reads(schedule.storages.size(), 0);
  const auto read = [&](StorageId stored, StorageId copy) {
    if (!copy.valid()) ++reads[stored.index()];
  };
  for (const Command& command : schedule.order) {
    const Stripe& stripe = schedule[command.stripe];
    switch (command.kind) {
      case Command::Kind::kStripe:
        if (!stripe.slice.valid()) break;
        read(schedule[stripe.slice].stored, schedule[stripe.slice].staged);
        if (schedule[stripe.slice].scales != schedule[stripe.slice].stored)
          read(schedule[stripe.slice].scales, schedule[stripe.slice].staged_scales);
        break;
      case Command::Kind::kLoadTable:
        read(schedule[schedule[stripe.step].activation.table].storage, stripe.staged_table);
        break;
      case Command::Kind::kLoadWeights:
      case Command::Kind::kLoadScales:
      case Command::Kind::kStageTable:
        if (command.first_byte == 0) ++reads[copy_of(schedule, command).from.index()];
        break;
    }
  }
  int64_t bytes = 0;
  for (size_t i = 0; i < reads.size(); ++i) {
    if (reads[i] > 1 && schedule.storages[i].space == Space::kConstants) bytes += schedule.storages[i].bytes;
  }
  return bytes;
}

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
  const int64_t repeated = has_a_limit(context) ? 0 : repeated_bytes(before);
  if (repeated == 0) return unchanged;
  const double cycles = cost_of(before, context.family, context.target);
  if (kWorthTheMemory * cycles_of_kernels(before, context, context.target) > cycles) return unchanged;
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
