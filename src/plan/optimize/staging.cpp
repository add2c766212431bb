// What:   copies weights, scales and tables that live in slow memory to fast memory before they are read, and loads
//         tables early, so that the transfers run beside other kernels.
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
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "facts/npu_targets.h"
#include "plan/cost/timeline.h"
#include "plan/memory/allocate.h"
#include "plan/memory/live_ranges.h"
#include "plan/optimize/prefetch_internal.h"
#include "plan/optimize/prefetch_problem_internal.h"
#include "plan/optimize/staged_copies_internal.h"
#include "plan/optimize/staging_internal.h"
#include "plan/optimize/transformations.h"

namespace carina::plan {

int64_t staging_budget(const Schedule& schedule, const Context& context) {
  const Space space = working_space(context.target, context.family);
  const int64_t limit = working_limit_bytes(context.target, context.family, context.options.arena_budget_bytes);
  if (context.working_bytes > 0)
    return std::min(limit, round_up<int64_t>(context.working_bytes, npu::kBaseAlignmentBytes));
  const bool cache_has_a_size = space != Space::kArena && context.target.memory.cache_bytes > 0;
  if (context.options.arena_budget_bytes > 0 || cache_has_a_size) return limit;
  const std::vector<int64_t> live = live_bytes(schedule, space);
  const int64_t needed = live.empty() ? 0 : std::ranges::max(live);
  return std::min(limit, std::max(needed + needed / kUnaskedShare, kUnaskedBytes));
}

namespace {

// Plans copies, allocates them, and removes copies that do not fit, until all fit.
class Fitter {
 public:
  enum class Tables : uint8_t { kMayBeCopied, kStay };
  Fitter(const Schedule& schedule, const Context& context, FitPurpose purpose,
         std::span<const BlockConfig> blocks_for_copies, const PrefetchPlan* known, Tables tables)
      : schedule_(schedule),
        space_(working_space(context.target, context.family)),
        budget_(staging_budget(schedule, context)),
        network_(stageable(schedule, context, budget_, blocks_for_copies)),
        context_(context),
        purpose_(purpose),
        patient_(context.options.optimize != Optimize::kSpeed),
        known_(known),
        blocks_for_copies_(blocks_for_copies) {
    if (tables == Tables::kMayBeCopied) return;
    for (FixedCopy& load : network_.problem.fixed) load.object = std::nullopt;
  }

  std::optional<StagedSchedule> run() {
    constexpr int kLastPercent = 60, kManyRounds = 32;
    search(patient_ ? kPatientRounds : 1);
    // A plan for all free memory is a lower bound: it assumes no gaps.
    const bool far_off = !best_ || best_->cycles > kFarOff * planned_cycles_;
    if (!patient_ && !nothing_to_copy_ && far_off) search(kPatientRounds);
    work_ = kWorks - 1;
    if (!best_ && !nothing_to_copy_) fits(kLastPercent, kManyRounds);
    if (best_ && purpose_ == FitPurpose::kResult) tighten();
    found_ = best_.has_value();
    return std::move(best_);
  }
  // Whether run() has found a staging that fits.
  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] bool copies_pay() const { return !nothing_to_copy_; }
  [[nodiscard]] bool may_copy_tables() const {
    return std::ranges::any_of(network_.problem.fixed, [](const FixedCopy& load) { return load.object.has_value(); });
  }
  // Reads all weights in place.
  [[nodiscard]] std::pair<Schedule, PrefetchPlan> without_copies() {
    PrefetchProblem problem = network_.problem;
    problem.max_work = 0;
    for (PrefetchKernel& kernel : problem.kernels) kernel.reads = 0;
    PrefetchPlan plan = plan_prefetch(problem);
    return {with_copies(schedule_, network_, plan, space_), std::move(plan)};
  }

 private:
  // The result of a plan. Further rounds may help if something does not fit.
  struct Attempt {
    double planned_cycles = 0;
    bool fits = false;
    std::vector<CopyOfKernel> not_fitting = {};
  };

  enum class Fit : uint8_t { kFits, kDoesNot, kHopeless };

  // `rounds`: the number of times that copies are removed. A search with more rounds than the one before it fits at
  // most `kStepsBack` percentages earlier.
  void search(int rounds) {
    // Assumes less and less of the free memory, because gaps between storages take some of it.
    constexpr size_t kStepsBack = 3;
    // Tries plans with and without the search for reads in place, because the plan does not model how transfers queue.
    // The second search of -O2 does so only if nothing has fitted.
    const bool is_second = !patient_ && rounds > 1;
    for (work_ = 0; work_ < kWorks; ++work_) {
      if (nothing_to_copy_ || (is_second && best_ && work_ > 0) || is_as_planned()) break;
      const size_t fitted = std::exchange(fitted_at_[work_], 0);
      const size_t first = fitted - std::min(fitted, kStepsBack);
      if (patient_) {
        search_all(first, rounds);
      } else {
        search_largest(first, fitted == 0 ? kPercents.size() : fitted + 1, rounds);
      }
    }
  }
  // Tries every percentage from index `first` on.
  void search_all(size_t first, int rounds) {
    for (size_t i = first; i < kPercents.size() && !nothing_to_copy_; ++i) fits(kPercents[i], rounds);
  }
  // Finds the largest percentage that fits, of the indices from `first` to before `end`, by bisection, because a plan
  // that fits a part of the memory mostly fits a smaller part, too. Most networks lose some 15 % to gaps, and a plan
  // that does not fit costs the whole search for addresses. Trying one percentage after the other takes eight such
  // searches, bisection four.
  void search_largest(size_t first, size_t end, int rounds) {
    const Fit with_most = fits(kPercents[first], rounds);
    if (with_most == Fit::kFits) fitted_at_[work_] = first;
    if (with_most != Fit::kDoesNot) return;
    size_t begin = first + 1;
    while (begin < end) {
      const size_t middle = (begin + end) / 2;
      const Fit fit = fits(kPercents[middle], rounds);
      if (fit == Fit::kFits && !nothing_to_copy_) fitted_at_[work_] = middle;
      if (fit == Fit::kDoesNot) {
        begin = middle + 1;
      } else {
        end = middle;  // less memory is not faster
      }
    }
  }

  // Whether the timeline of the best staging is close to the cycles of its plan, and to those of the plan for all free
  // memory. The plan without the search is then never clearly better, so -O2 does not try it.
  [[nodiscard]] bool is_as_planned() const {
    constexpr double kQueued = 1.01;
    return !patient_ && work_ > 0 && best_ && best_->cycles <= kFarOff * planned_cycles_ &&
           best_->cycles <= kQueued * best_->plan.cycles;
  }

  // Whether a plan fits this percentage of the free memory, or there is nothing to copy.
  Fit fits(int percent, int rounds) {
    PrefetchProblem problem = network_.problem;
    problem.max_work = work_ == 0 ? problem.max_work : 0;
    for (PrefetchKernel& kernel : problem.kernels) kernel.free_bytes = kernel.free_bytes * percent / 100;
    for (int round = 0; round < rounds; ++round) {
      log_phase(CompilePhase::kMemory, context_.log);
      const auto known = round == 0 ? first_rounds_.find({work_, percent}) : first_rounds_.end();
      const Attempt attempt = known != first_rounds_.end() ? known->second : attempted(problem);
      if (round == 0) first_rounds_.insert({{work_, percent}, attempt});
      if (attempt.fits) return Fit::kFits;
      if (is_hopeless(attempt.planned_cycles)) return Fit::kHopeless;
      if (attempt.not_fitting.empty()) return Fit::kDoesNot;
      take_back(problem, network_, attempt.not_fitting);
    }
    return Fit::kDoesNot;
  }

  // The time line is close to the plan, so further search gains nothing.
  [[nodiscard]] bool is_hopeless(double planned_cycles) const {
    constexpr double kNear = 1.01;
    return best_ && planned_cycles > kNear * best_->cycles;
  }
  Attempt attempted(const PrefetchProblem& problem) {
    std::optional<PrefetchFinding>& finding = findings_[work_];
    // The first problem is that with the whole budget.
    const PrefetchPlan* const known = std::exchange(known_, nullptr);
    PrefetchPlan plan = finding ? plan_prefetch(problem, *finding) : known != nullptr ? *known : plan_prefetch(problem);
    if (!finding) finding = plan.finding;
    if (planned_cycles_ == 0) planned_cycles_ = plan.cycles;
    nothing_to_copy_ = plan.copies.empty();
    if (nothing_to_copy_) return {.planned_cycles = plan.cycles, .fits = true};
    if (is_hopeless(plan.cycles)) return {.planned_cycles = plan.cycles};
    const auto same = std::ranges::find_if(tried_, [&](const auto& tried) {
      return tried.first.commands == plan.commands && tried.first.copies == plan.copies;
    });
    if (same != tried_.end()) return same->second;
    Attempt attempt = allocated_as(plan);
    tried_.emplace_back(std::move(plan), attempt);
    return attempt;
  }
  Attempt allocated_as(const PrefetchPlan& plan) {
    Attempt attempt{.planned_cycles = plan.cycles};
    auto allocated =
        allocate_without_limit(with_copies(schedule_, network_, plan, space_), context_, search_budget(budget_));
    if (!allocated) return attempt;
    attempt.not_fitting = copies_that_do_not_fit(*allocated, schedule_, space_, budget_);
    attempt.fits = attempt.not_fitting.empty() && space_bytes(*allocated, space_) <= budget_;
    if (!attempt.fits) return attempt;
    StagedSchedule staged = ordered(*std::move(allocated), plan);
    if (!best_ || staged.cycles < best_->cycles) best_ = std::move(staged);
    return attempt;
  }
  // The parser runs ahead of the kernels by as many as it can issue. A transfer among these starts too early, beside
  // kernels that need the port. A transfer that starts late may end late. So all positions are tried.
  [[nodiscard]] StagedSchedule ordered(Schedule allocated, PrefetchPlan plan) const {
    const auto blocked = with_blocks(allocated, plan);
    const Timeline timeline(blocked ? *blocked : allocated, context_.family, context_.target);
    std::optional<double> min;
    for (int after = 0; after <= context_.family.limits.max_outstanding_kernels; ++after) {
      std::vector<Command> order = order_with_copies(schedule_, network_, plan, static_cast<size_t>(after));
      const double cycles = timeline.cycles(order);
      if (min && cycles >= *min) continue;
      min = cycles;
      allocated.order = std::move(order);
    }
    return {.schedule = std::move(allocated), .plan = std::move(plan), .cycles = *min};
  }
  [[nodiscard]] SearchBudget search_budget(int64_t enough_bytes) const {
    constexpr size_t kQuickWork = 500'000;
    return {.enough_bytes = enough_bytes, .max_work = patient_ ? SearchBudget{}.max_work : kQuickWork};
  }
  // Tries to allocate the same plan in less memory, with the same cycles.
  void tighten() {
    constexpr double kNoSlower = 1.0005;
    auto allocated =
        allocate_without_limit(with_copies(schedule_, network_, best_->plan, space_), context_, search_budget(0));
    if (!allocated || space_bytes(*allocated, space_) >= space_bytes(best_->schedule, space_)) return;
    StagedSchedule staged = ordered(*std::move(allocated), best_->plan);
    if (staged.cycles <= kNoSlower * best_->cycles) best_ = std::move(staged);
  }
  // The schedule with the blocks that the plan assumes; nothing if they are its own.
  [[nodiscard]] std::optional<Schedule> with_blocks(const Schedule& own, const PrefetchPlan& plan) const {
    if (blocks_for_copies_.empty()) return std::nullopt;
    Schedule schedule = own;
    for (size_t k = 0; k < network_.stripes.size(); ++k) {
      const size_t stripe = network_.stripes[k].index();
      if (plan.staged[k] != 0) schedule.stripes[stripe].block = blocks_for_copies_[stripe];
    }
    return schedule;
  }

  static constexpr int kPatientRounds = 4;
  static constexpr std::array kPercents{100, 98, 96, 94, 91, 88, 84, 80, 75, 70, 60};
  static constexpr double kFarOff = 1.04;
  static constexpr size_t kWorks = 2;

  const Schedule& schedule_;
  Space space_;
  int64_t budget_;
  StageableNetwork network_;
  const Context& context_;
  FitPurpose purpose_;
  bool patient_;
  const PrefetchPlan* known_;  // of the first problem, until it has been used
  size_t work_ = 0;            // 0: all that the problem allows, 1: none
  double planned_cycles_ = 0;  // of the first plan
  bool nothing_to_copy_ = false;
  bool found_ = false;
  std::array<size_t, kWorks> fitted_at_ = {};  // by work: the percentage of the last search, from 0 on; 0: none fitted
  // By work: the result of the first search. Later searches with less memory continue from it.
  std::array<std::optional<PrefetchFinding>, kWorks> findings_;
  std::vector<std::pair<PrefetchPlan, Attempt>> tried_;
  std::map<std::pair<size_t, int>, Attempt> first_rounds_;  // by work and percent: the start of a second search
  std::span<const BlockConfig> blocks_for_copies_;
  std::optional<StagedSchedule> best_;
};

bool copies_tables(const Schedule& schedule) {
  return std::ranges::any_of(schedule.stripes, [](const Stripe& stripe) { return stripe.staged_table.valid(); });
}

// The fastest staging of a fitter; if none fits, all weights are read in place.
Result<StagedSchedule> staged_by(Fitter& fitter, const Context& context) {
  if (auto fit = fitter.run()) return *std::move(fit);
  auto [without, plan] = fitter.without_copies();
  CARINA_TRY(Schedule allocated, allocate_storages(std::move(without), context));
  const double cycles = cost_of(allocated, context.family, context.target);
  return StagedSchedule{.schedule = std::move(allocated),
                        .plan = std::move(plan),
                        .cycles = cycles,
                        .limit_too_small = context.options.arena_budget_bytes > 0 && fitter.copies_pay()};
}

}  // namespace

Result<StagedSchedule> fit_copies(const Schedule& schedule, const Context& context, FitPurpose purpose,
                                  std::span<const BlockConfig> blocks_for_copies, const PrefetchPlan* known) {
  Fitter fitter(schedule, context, purpose, blocks_for_copies, known, Fitter::Tables::kMayBeCopied);
  auto staged = staged_by(fitter, context);
  if (!staged || !fitter.may_copy_tables() || (fitter.found() && !copies_tables(staged->schedule))) return staged;
  // The plan does not model that transfers queue, so copies of tables may gain where the time line loses.
  Fitter other(schedule, context, purpose, blocks_for_copies, nullptr, Fitter::Tables::kStay);
  auto plain = staged_by(other, context);
  return plain && plain->cycles <= staged->cycles ? std::move(plain) : std::move(staged);
}

namespace {

// Reports copies that were left out because of memory or time.
void say_limits(const StagedSchedule& staged, const Context& context) {
  if (staged.limit_too_small)
    context.log.note(
        {.where = "weights",
         .what = "all of them are read from slow memory: beside the tensors, the limit leaves no space for copies",
         .severity = Severity::kNote});
  if (staged.plan.finding.ended_early)
    context.log.note(
        {.where = "weights",
         .what = "the search for the weights that are worth a copy to fast memory stopped early: the program is "
                 "right, and may have more cycles than needed",
         .hint = context.options.optimize == Optimize::kSpeed ? "-O3 searches eight times as long" : "",
         .severity = Severity::kNote});
}

}  // namespace

Result<Schedule> stage_weights(Schedule schedule, const Context& context) {
  if (context.options.variation.staging == Variation::Staging::kNever ||
      !context.options.uses(Optimization::kStagedWeights))
    return allocate_storages(std::move(schedule), context);
  CARINA_TRY(StagedSchedule staged, fit_copies(schedule, context, FitPurpose::kResult));
  say_limits(staged, context);
  return std::move(staged.schedule);
}

}  // namespace carina::plan
