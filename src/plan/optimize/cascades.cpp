// What:   computes ranges of steps stripe by stripe, so that of the tensors between them only some rows exist at a
//         time.
// Before: stripe p0 step=s0    stripe p1 step=s1                         storage m1 bytes=4096
// After:  stripe p0 step=s0 ofm={height=4 ...}  stripe p1 step=s0 ofm={y=4 height=1 ...}  stripe p2 step=s1
//         ofm={height=4 ...} stripe p3 step=s0 ofm={y=5 height=4 ...}  stripe p4 step=s1 ofm={y=4 height=4 ...}
//         cascade first=s0 last=s1 stripe_rows=4                         storage m1 bytes=1536 rolling_rows=6
// Needs:  one stripe per step in the order of the steps, storages of their own for all tensors, formats.
// Gives:  stripes that cover their steps (rule 2) and find the rows that they read (rule 3), rolling rows inside
//         cascades only (rule 9).
// Legal:  a stripe comes after all stripes that write what it reads; a row is overwritten once its last reader is done.
#include "plan/optimize/cascades_internal.h"

#include <fmt/format.h>

#include <algorithm>

#include "carina/check.h"
#include "plan/cost/cost.h"
#include "plan/memory/allocate.h"
#include "plan/memory/live_ranges.h"
#include "plan/optimize/cascade_search_internal.h"
#include "plan/optimize/transformations.h"

namespace carina::plan {
namespace {

class Interleaver {
 public:
  explicit Interleaver(Schedule schedule) : schedule_(std::move(schedule)), users_(users_of(schedule_)) {}

  Schedule run(const std::vector<Cascade>& cascades) {
    size_t next = 0;
    for (const Cascade& cascade : cascades) {
      for (; next < cascade.first.index(); ++next) add_whole(StepId(next));
      add(cascade);
      next = cascade.last.index() + 1;
    }
    for (; next < schedule_.steps.size(); ++next) add_whole(StepId(next));
    schedule_.stripes = std::move(stripes_);
    schedule_.order = std::move(order_);
    schedule_.cascades = cascades;
    return std::move(schedule_);
  }

 private:
  void add(const Stripe& stripe) {
    order_.push_back({.stripe = StripeId(stripes_.size())});
    stripes_.push_back(stripe);
  }
  void add_whole(StepId step) {
    const Stripe& stripe = schedule_.stripes[step.index()];
    CARINA_CHECK(stripe.step == step, "step {} is in stripes before there are cascades", step.index());
    add(stripe);
  }
  void add(const Cascade& cascade) {
    const auto plan = plan_cascade(schedule_, users_, cascade);
    CARINA_CHECK(plan.has_value(), "steps {}..{} cannot be a cascade", cascade.first.index(), cascade.last.index());
    for (const CascadeMove& move : plan->moves) {
      Stripe stripe = schedule_.stripes[move.step.index()];
      stripe.ofm.y = move.rows.begin;
      stripe.ofm.height = move.rows.count();
      add(stripe);
    }
    for (const RollingTensor& rolling : plan->rolling) {
      const PlanTensor& tensor = schedule_[rolling.tensor];
      Storage& storage = schedule_.storages[tensor.storage.index()];
      storage.rolling_rows = rolling.rows;
      storage.bytes = tensor.bytes() / tensor.extent.height * rolling.rows;
    }
  }

  Schedule schedule_;
  TensorUsers users_;
  std::vector<Stripe> stripes_;
  std::vector<Command> order_;
};

// For tests: from each step on, the longest possible cascade of at most `kLongest` steps.
std::vector<Cascade> everywhere(const Schedule& schedule, int64_t stripe_rows) {
  constexpr size_t kLongest = 12;
  const TensorUsers users = users_of(schedule);
  std::vector<Cascade> cascades;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    for (size_t end = std::min(schedule.steps.size(), i + kLongest); end-- > i + 1;) {
      const Cascade cascade{.first = StepId(i), .last = StepId(end), .stripe_rows = stripe_rows};
      if (!plan_cascade(schedule, users, cascade)) continue;
      cascades.push_back(cascade);
      i = end;
      break;
    }
  }
  return cascades;
}

}  // namespace

Schedule with_cascades(Schedule schedule, const std::vector<Cascade>& cascades) {
  if (cascades.empty()) return schedule;
  return Interleaver(std::move(schedule)).run(cascades);
}

namespace {

// The size of the working space after allocation: all storages that may be there, without copies of weights.
int64_t allocated_working_bytes(Schedule schedule, const Context& context, int64_t enough_bytes = 0) {
  const Space working = working_space(context.target, context.family);
  for (const PlanTensor& tensor : schedule.tensors) {
    if (tensor.storage.valid() && tensor.kind == TensorKind::kIntermediate)
      schedule.storages[tensor.storage.index()].space = working;
  }
  return allocated_bytes(std::move(schedule), working, enough_bytes);
}

// The approximate cycles of a schedule's kernels, one after the other.
double kernel_cycles(const Schedule& schedule, const Context& context) {
  const PortSpeed fast = speed_of(working_space(context.target, context.family), context.family, context.target);
  const PortSpeed slow = speed_of(Space::kArena, context.family, context.target);
  double cycles = 0;
  for (const Stripe& stripe : schedule.stripes) {
    const Step subop = subop_of(schedule, stripe);
    if (subop.kind == StepKind::kDma) continue;
    const StripeCost cost = cost_of(subop, stripe.block, context.family, context.target);
    double near = 0, far = 0, slowest_read = 0;
    const auto add = [&](const FeatureMap& map, double bytes, bool reads) {
      const StorageId storage = schedule[map.tensor].storage;
      const bool is_near = storage.valid() && schedule[storage].space == Space::kFastScratch;
      const PortSpeed& port = is_near ? fast : slow;
      (is_near ? near : far) += bytes / port.bytes_per_cycle;
      if (reads) slowest_read = std::max(slowest_read, bytes / port.map_read_bytes_per_cycle);
    };
    add(subop.ofm, cost.ofm_bytes, false);
    add(subop.ifm, cost.ifm_bytes, true);
    if (subop.reads_second_map()) add(subop.ifm2, cost.ifm2_bytes, true);
    cycles += std::max({cost.npu_cycles, near, far, slowest_read}) + kStripeCycles;
  }
  return cycles;
}

// For the least memory, stripes are as low as one row, which wastes half of the multipliers if ublocks have two rows.
// This share of additional memory is accepted for fewer and higher stripes.
constexpr int64_t kSlackPercent = 8;

class CascadeChooser {
 public:
  CascadeChooser(const Schedule& schedule, Schedule whole, const Material& material, const Context& context,
                 ThreadPool& threads)
      : schedule_(schedule),
        whole_(std::move(whole)),
        context_(context),
        threads_(threads),
        search_(whole_, material, context),
        limit_(working_limit_bytes(context.target, context.family, context.options.arena_budget_bytes)) {}

  Cascaded run() {
    const bool smallest = context_.options.optimize == Optimize::kSize;
    if (!smallest && search_.whole_bytes() <= limit_ && allocated_working_bytes(schedule_, context_, limit_) <= limit_)
      return {.schedule = schedule_};
    if (smallest) {
      const int64_t fewest = search_.fewest_bytes();
      return smallest_within(std::max(fewest, std::min(fewest + fewest * kSlackPercent / 100, limit_)));
    }
    auto choice = fitting(limit_, limit_);
    if (!choice) choice = fitting(std::max(search_.fewest_bytes(), limit_), limit_);
    if (choice) {
      Cascaded cascaded = take(*choice);
      cascaded.working_bytes = 0;  // the limit applies
      if (!spilling_is_faster(cascaded.schedule)) return cascaded;
    }
    return {.schedule = schedule_};
  }

  // The schedules with the cascades for each limit, as cascades_within().
  std::vector<Schedule> within(std::span<const int64_t> limits) const {
    std::vector<Schedule> schedules;
    for (const int64_t limit : limits) {
      auto choice = fitting(limit, limit);
      const bool patient = context_.options.optimize == Optimize::kSearch;
      if (!choice && patient) choice = fitting(search_.fewest_bytes(), limit);
      if (!choice || choice->cascades.empty()) continue;
      const auto is_same = [&](const Schedule& made) { return made.cascades == choice->cascades; };
      if (std::ranges::none_of(schedules, is_same)) schedules.push_back(with_cascades(schedule_, choice->cascades));
    }
    return schedules;
  }

 private:
  static bool is_longest(const Cascade& cascade) {
    return cascade.last.index() + 1 - cascade.first.index() >= kLongestCascade;
  }
  [[nodiscard]] Cascaded take(const CascadeChoice& choice) const {
    if (std::ranges::any_of(choice.cascades, is_longest))
      context_.log.note({.where = "memory",
                         .what = fmt::format("no more than {} steps were computed stripe by stripe together, the most "
                                             "that are tried: more might need less memory",
                                             kLongestCascade),
                         .severity = Severity::kNote});
    Cascaded cascaded{.schedule = with_cascades(schedule_, choice.cascades)};
    cascaded.working_bytes = std::max(choice.bytes, allocated_working_bytes(cascaded.schedule, context_));
    if (!choice.cascades.empty()) cascaded.whole_bytes = allocated_working_bytes(schedule_, context_);
    return cascaded;
  }

  [[nodiscard]] Cascaded smallest_within(int64_t limit) const {
    Cascaded cascaded = take(search_.within(limit).value_or(CascadeChoice{.bytes = search_.whole_bytes()}));
    // The memory that stripes leave free is for copies of weights.
    if (cascaded.whole_bytes > 0) cascaded.working_bytes = std::max(cascaded.working_bytes, limit);
    return cascaded;
  }

  // Allocation adds gaps between storages. So the limit is lowered until the chosen cascades can be allocated within
  // `allocated_limit`.
  [[nodiscard]] std::optional<CascadeChoice> fitting(int64_t limit, int64_t allocated_limit) const {
    constexpr int kTries = 4;
    std::optional<CascadeChoice> best;
    for (int i = 0; i < kTries; ++i) {
      const auto choice = search_.within(limit);
      if (!choice) break;
      best = choice;
      const int64_t allocated =
          allocated_working_bytes(with_cascades(schedule_, choice->cascades), context_, allocated_limit);
      if (allocated <= allocated_limit) break;
      limit -= allocated - allocated_limit;
    }
    return best;
  }

  // If the arena lies in slow memory, data that does not fit fast scratch may be there instead.
  [[nodiscard]] bool spilling_is_faster(const Schedule& cascaded) const {
    if (working_space(context_.target, context_.family) == Space::kArena) return false;
    auto blocked = choose_blocks(cascaded, context_, threads_);
    if (!blocked) return true;
    return kernel_cycles(choose_spaces(whole_, context_), context_) <=
           kernel_cycles(choose_spaces(std::move(*blocked), context_), context_);
  }

  const Schedule& schedule_;
  Schedule whole_;  // with blocks
  const Context& context_;
  ThreadPool& threads_;
  CascadeSearch search_;
  int64_t limit_;
};

}  // namespace

Result<Cascaded> form_cascades(Schedule schedule, const Material& material, const Context& context,
                               ThreadPool& threads) {
  if (const int64_t forced = context.options.variation.cascade_rows; forced != 0) {
    const std::vector<Cascade> cascades = everywhere(schedule, forced);
    return Cascaded{.schedule = with_cascades(std::move(schedule), cascades)};
  }
  if (!context.options.uses(Optimization::kCascades)) return Cascaded{.schedule = std::move(schedule)};
  const std::vector<int64_t> live = live_bytes(schedule, Space::kArena);
  const int64_t limit = working_limit_bytes(context.target, context.family, context.options.arena_budget_bytes);
  const bool fits = live.empty() || std::ranges::max(live) < limit / 2;
  if (fits && context.options.optimize != Optimize::kSize) return Cascaded{.schedule = std::move(schedule)};
  CARINA_TRY(Schedule whole, choose_blocks(schedule, context, threads));
  return CascadeChooser(schedule, std::move(whole), material, context, threads).run();
}

Result<std::vector<Schedule>> cascades_within(std::span<const int64_t> limits, const Schedule& schedule,
                                              const Material& material, const Context& context, ThreadPool& threads) {
  CARINA_TRY(Schedule whole, choose_blocks(schedule, context, threads));
  return CascadeChooser(schedule, std::move(whole), material, context, threads).within(limits);
}

}  // namespace carina::plan
