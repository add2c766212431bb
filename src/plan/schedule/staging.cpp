// What:   copies weights and scales that live in slow memory to fast memory before they are read, and loads tables early,
//         so that the transfers run beside other kernels.
// Before: stripe s3                    slice w1 stored=m7 scales=m7
// After:  load_weights s3 part 1       slice w1 stored=m7 scales=m7 staged=m9
//         stripe s1                    storage m9 space=arena bytes=5120
//         load_weights s3 part 2
//         stripe s2
//         stripe s3
// Needs:  slices, an order of stripes and table loads; storages of their own for all tensors.
// Gives:  slices that are loaded before they are read (rule 5), and addresses of all storages.
// Legal:  the same bytes are read from another place; hazards and placement see the copy as a write.
#include <algorithm>
#include <optional>

#include "base/checked_math.h"
#include "facts/npu_targets.h"
#include "plan/memory/lives.h"
#include "plan/schedule/prefetch.h"
#include "plan/schedule/prefetch_problem.h"
#include "plan/schedule/staging.h"
#include "plan/schedule/timeline.h"
#include "plan/schedule/transformations.h"

namespace carina::plan {
namespace {

// Which stripes read from a copy, and from which: a storage per copy.
void set_staged(Schedule& schedule, const StageableNetwork& network, const PrefetchPlan& plan, Space space) {
  for (const PrefetchCopy& copy : plan.copies) {
    const StorageId stored = network.storages[copy.object];
    const StorageId staged = schedule.add({.space = space, .bytes = schedule[stored].bytes});
    for (const size_t user : copy.users) {
      WeightSlice& slice = schedule.slices[schedule[network.stripes[user]].slice.index()];
      if (slice.stored == stored) {
        slice.staged = staged;
      } else {
        slice.staged_scales = staged;
      }
    }
  }
}

// The commands in their new order: stripes as before, transfers so many kernels behind the first beside which they may
// run, but in front of their readers.
std::vector<Command> reordered(const Schedule& schedule, const StageableNetwork& network, const PrefetchPlan& plan,
                               size_t kernels_behind) {
  std::vector<Command> order;
  std::vector<PrefetchCommand> transfers = plan.commands;
  const auto stands_before = [&](const PrefetchCommand& c) { return std::min(c.beside + kernels_behind, c.user); };
  std::ranges::stable_sort(transfers, {}, stands_before);
  auto next = transfers.begin();
  const auto add_transfers = [&](size_t kernel) {
    for (; next != transfers.end() && stands_before(*next) <= kernel; ++next) {
      if (!next->copy) {
        order.push_back(network.table_loads[next->fixed]);
        continue;
      }
      const PrefetchCopy& copy = plan.copies[*next->copy];
      const StripeId reader = network.stripes[copy.users.front()];
      const bool weights = schedule[schedule[reader].slice].stored == network.storages[copy.object];
      order.push_back({.kind = weights ? Command::Kind::kLoadWeights : Command::Kind::kLoadScales,
                       .stripe = reader,
                       .first_byte = next->first_byte,
                       .bytes = next->bytes});
    }
  };
  size_t kernel = 0;
  for (const Command& command : schedule.order) {
    if (command.kind == Command::Kind::kLoadTable) continue;
    add_transfers(kernel++);
    order.push_back(command);
  }
  return order;
}

Schedule with_copies(Schedule schedule, const StageableNetwork& network, const PrefetchPlan& plan, Space space) {
  set_staged(schedule, network, plan, space);
  schedule.order = reordered(schedule, network, plan, 0);
  return schedule;
}

// Copies that a placed schedule has no room for: those that end behind the budget, and the largest beside a tensor that
// does. As (kernel, storage among the constants of `unplaced`: placing renames them).
std::vector<std::pair<size_t, StorageId>> copies_without_room(const Schedule& placed, const Schedule& unplaced,
                                                              Space space, int64_t budget) {
  const std::vector<Life> lives = lives_of(placed);
  const auto is_over = [&](StorageId id) { return placed[id].address + placed[id].bytes > budget; };
  std::vector<Life> over;  // of tensors
  for (size_t i = 0; i < lives.size(); ++i) {
    if (placed.storages[i].space == space && lives[i].used() && is_over(StorageId(i))) over.push_back(lives[i]);
  }
  std::vector<std::pair<size_t, StorageId>> found;
  std::optional<std::pair<size_t, StorageId>> largest_beside;
  int64_t largest = 0;
  size_t kernel = 0;
  for (const Command& command : placed.order) {
    if (command.kind != Command::Kind::kStripe) continue;
    if (const WeightSlice* slice = placed.slice_of(command)) {
      const WeightSlice& original = unplaced[unplaced[command.stripe].slice];
      for (const auto& [copy, stored] :
           {std::pair(slice->staged, original.stored), std::pair(slice->staged_scales, original.scales)}) {
        if (!copy.valid()) continue;
        if (is_over(copy)) found.emplace_back(kernel, stored);
        const Life& life = lives[copy.index()];
        const bool beside = std::ranges::any_of(
            over, [&](const Life& other) { return life.first <= other.last && other.first <= life.last; });
        if (beside && placed[copy].bytes > largest) {
          largest = placed[copy].bytes;
          largest_beside = std::pair(kernel, stored);
        }
      }
    }
    ++kernel;
  }
  if (found.empty() && !over.empty() && largest_beside) found.push_back(*largest_beside);
  return found;
}

// Those without room come later; if that was not enough, not at all.
void take_back(PrefetchProblem& problem, const StageableNetwork& network,
               const std::vector<std::pair<size_t, StorageId>>& without_room) {
  for (const auto& [kernel, storage] : without_room) {
    const auto object = static_cast<size_t>(std::ranges::find(network.storages, storage) - network.storages.begin());
    if (!problem.late.emplace(kernel, object).second) problem.banned.emplace(kernel, object);
  }
}

}  // namespace

int64_t staging_budget(const Schedule& schedule, const Context& context) {
  const Space space = working_space(context.target, context.family);
  const int64_t limit = working_limit_bytes(context.target, context.family, context.options.arena_limit_bytes);
  if (context.working_bytes > 0)
    return std::min(limit, round_up<int64_t>(context.working_bytes, npu::kBaseAlignmentBytes));
  const bool cache_has_a_size = space != Space::kArena && context.target.memory.cache_bytes > 0;
  if (context.options.arena_limit_bytes > 0 || cache_has_a_size) return limit;
  const std::vector<int64_t> live = live_bytes(schedule, space);
  const int64_t needed = live.empty() ? 0 : std::ranges::max(live);
  return std::min(limit, std::max(needed + needed / kUnaskedShare, kUnaskedBytes));
}

namespace {

// Plans, places, and takes back what had no room, until all has.
class Fitter {
 public:
  Fitter(const Schedule& schedule, const Context& context, std::span<const BlockConfig> blocks_for_copies)
      : schedule_(schedule),
        space_(working_space(context.target, context.family)),
        budget_(staging_budget(schedule, context)),
        network_(stageable(schedule, context, budget_, blocks_for_copies)),
        context_(context),
        patient_(context.options.optimise != Optimise::kSpeed),
        most_work_(network_.problem.most_work),
        blocks_for_copies_(blocks_for_copies) {}

  std::optional<StagedSchedule> run() {
    constexpr double kFarOff = 1.04;
    constexpr int kLastPercent = 60, kManyRounds = 32;
    search(patient_ ? kPatientRounds : 1);
    // What was planned for all that is free is what would be without gaps.
    if (!patient_ && !nothing_to_copy_ && (!best_ || best_->cycles > kFarOff * planned_cycles_)) search(kPatientRounds);
    if (!best_ && !nothing_to_copy_) fits(kLastPercent, kManyRounds);
    if (best_) tighten();
    return std::move(best_);
  }
  [[nodiscard]] bool copies_pay() const { return !nothing_to_copy_; }
  // Reads all weights in place.
  [[nodiscard]] std::pair<Schedule, PrefetchPlan> without_copies() {
    PrefetchProblem problem = network_.problem;
    for (PrefetchKernel& kernel : problem.kernels) kernel.reads = 0;
    PrefetchPlan plan = plan_prefetch(problem);
    return {with_copies(schedule_, network_, plan, space_), std::move(plan)};
  }

 private:
  // `rounds`: of taking copies back.
  void search(int rounds) {
    // With a search for what is better read in place, and without: the plan does not see how transfers queue.
    for (const size_t work : {most_work_, size_t{0}}) {
      if (nothing_to_copy_) break;
      network_.problem.most_work = work;
      finding_.reset();
      // Counts on less and less of what is free, as gaps between storages take some of it.
      for (const int percent : {100, 98, 96, 94, 91, 88, 84, 80, 75, 70, 60}) {
        if (fits(percent, rounds) && (nothing_to_copy_ || !patient_)) break;
      }
    }
  }

  // Whether anything fits in so much of what is free, or there is nothing to copy.
  bool fits(int percent, int rounds) {
    PrefetchProblem problem = network_.problem;
    for (PrefetchKernel& kernel : problem.kernels) kernel.free_bytes = kernel.free_bytes * percent / 100;
    const Effort effort{.enough_bytes = budget_, .most_work = patient_ ? Effort{}.most_work : kQuickWork};
    for (int round = 0; round < rounds; ++round) {
      say(CompilePhase::kMemory, context_.log);
      PrefetchPlan plan = finding_ ? plan_prefetch(problem, *finding_) : plan_prefetch(problem);
      if (!finding_) finding_ = plan.finding;
      if (planned_cycles_ == 0) planned_cycles_ = plan.cycles;
      nothing_to_copy_ = plan.copies.empty();
      if (nothing_to_copy_) return true;
      // The time line is near to what was planned: nothing to gain.
      if (best_ && plan.cycles > kNear * best_->cycles) return false;
      Schedule copied = with_copies(schedule_, network_, plan, space_);
      auto placed = place_in_any_size(std::move(copied), context_, effort);
      if (!placed) return false;
      const auto without_room = copies_without_room(*placed, schedule_, space_, budget_);
      if (without_room.empty()) {
        if (space_bytes(*placed, space_) > budget_) return false;
        StagedSchedule staged = ordered(*placed, plan);
        if (!best_ || staged.cycles < best_->cycles) best_ = std::move(staged);
        return true;
      }
      take_back(problem, network_, without_room);
    }
    return false;
  }
  // The parser runs ahead of the kernels by as many as it can issue: what stands among these starts too early, beside
  // kernels that need the port themselves; but what starts late may end late. All are tried.
  [[nodiscard]] StagedSchedule ordered(const Schedule& placed, const PrefetchPlan& plan) const {
    std::optional<StagedSchedule> best;
    for (int behind = 0; behind <= context_.family.limits.max_outstanding_kernels; ++behind) {
      StagedSchedule staged{.schedule = placed, .plan = plan};
      staged.schedule.order = reordered(schedule_, network_, plan, static_cast<size_t>(behind));
      staged.cycles = cost_of(with_blocks(staged), context_.family, context_.target);
      if (!best || staged.cycles < best->cycles) best = std::move(staged);
    }
    return *std::move(best);
  }
  // What fits may be placed in less, in the same time.
  void tighten() {
    constexpr double kNoSlower = 1.0005;
    const Effort effort{.most_work = patient_ ? Effort{}.most_work : kQuickWork};
    auto placed = place_in_any_size(with_copies(schedule_, network_, best_->plan, space_), context_, effort);
    if (!placed || space_bytes(*placed, space_) >= space_bytes(best_->schedule, space_)) return;
    StagedSchedule staged = ordered(*placed, best_->plan);
    if (staged.cycles <= kNoSlower * best_->cycles) best_ = std::move(staged);
  }
  // In the blocks that the plan counts on.
  [[nodiscard]] Schedule with_blocks(const StagedSchedule& staged) const {
    Schedule schedule = staged.schedule;
    if (blocks_for_copies_.empty()) return schedule;
    for (size_t k = 0; k < network_.stripes.size(); ++k) {
      const size_t stripe = network_.stripes[k].index();
      if (staged.plan.staged[k] != 0) schedule.stripes[stripe].block = blocks_for_copies_[stripe];
    }
    return schedule;
  }

  static constexpr size_t kQuickWork = 500'000;
  static constexpr double kNear = 1.01;
  static constexpr int kPatientRounds = 4;

  const Schedule& schedule_;
  Space space_;
  int64_t budget_;
  StageableNetwork network_;
  const Context& context_;
  bool patient_;
  size_t most_work_;
  double planned_cycles_ = 0;  // of the first plan
  bool nothing_to_copy_ = false;
  std::optional<PrefetchFinding> finding_;  // of the first search: later ones, for less memory, go on from there
  std::span<const BlockConfig> blocks_for_copies_;
  std::optional<StagedSchedule> best_;
};

}  // namespace

Result<StagedSchedule> fit_copies(const Schedule& schedule, const Context& context,
                                  std::span<const BlockConfig> blocks_for_copies) {
  Fitter fitter(schedule, context, blocks_for_copies);
  if (auto fit = fitter.run()) return *std::move(fit);
  auto [without, plan] = fitter.without_copies();
  CARINA_TRY(Schedule placed, place_storages(std::move(without), context));
  const double cycles = cost_of(placed, context.family, context.target);
  return StagedSchedule{.schedule = std::move(placed),
                        .plan = std::move(plan),
                        .cycles = cycles,
                        .no_room = context.options.arena_limit_bytes > 0 && fitter.copies_pay()};
}

namespace {

// What was left out: for want of room, or of time.
void say_limits(const StagedSchedule& staged, const Context& context) {
  if (staged.no_room)
    context.log.note(
        {.where = "weights",
         .what = "all of them are read from slow memory: beside the tensors, the limit leaves no room for copies",
         .severity = Severity::kNote});
  if (staged.plan.finding.ended_early)
    context.log.note({.where = "weights",
                      .what = "the search for what to copy ended at the limit of its work",
                      .hint = context.options.optimise == Optimise::kSpeed ? "-O3 does eight times as much" : "",
                      .severity = Severity::kNote});
}

}  // namespace

Result<Schedule> stage_weights(Schedule schedule, const Context& context) {
  if (context.options.variation.staging == Variation::Staging::kNever)
    return place_storages(std::move(schedule), context);
  CARINA_TRY(StagedSchedule staged, fit_copies(schedule, context, {}));
  say_limits(staged, context);
  return std::move(staged.schedule);
}

}  // namespace carina::plan
