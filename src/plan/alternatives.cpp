#include "plan/alternatives_internal.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "plan/cost/assumed_targets.h"
#include "plan/cost/timeline.h"
#include "plan/memory/allocate.h"
#include "plan/optimize/transformations.h"

namespace carina::plan {
namespace {

// What differs between two ways to finish.
struct Way {
  Optimize optimize = Optimize::kSpeed;
  BlockChoice blocks = BlockChoice::kNominal;
  int64_t working_bytes = 0;
  bool scales_apart = false;
  const Target* target = nullptr;  // whose costs decide; none: the network's
};

Context context_for(const Context& context, const Options& options, const Way& way, const Schedule& cut_like) {
  return {.family = context.family,
          .target = way.target != nullptr ? *way.target : context.target,
          .options = options,
          .log = context.log,
          .weights = context.weights,
          .working_bytes = way.working_bytes,
          .block_choice = way.blocks,
          .scales_apart = way.scales_apart,
          .blocks = way.target != nullptr ? nullptr : context.blocks,
          .slices = context.slices,
          .cut_like = way.scales_apart ? nullptr : &cut_like};
}

// The cycles of a schedule with the memories of `slow`, divided by those with the memories of `fast`.
double slowdown(const Schedule& schedule, const Context& context, const Target& slow, const Target& fast) {
  return cost_of(schedule, context.family, slow) / std::max(1.0, cost_of(schedule, context.family, fast));
}

Target with_a_fast_second_memory(Target target) {
  target.system.ports[1] = target.system.ports[0];
  return target;
}

class Alternatives {
 public:
  Alternatives(Finished baseline, const Beginnings& beginnings, const Context& context, ThreadPool& threads)
      : beginnings_(beginnings),
        context_(context),
        threads_(threads),
        arena_bytes_(space_bytes(baseline.schedule, Space::kArena)),
        fast_bytes_(space_bytes(baseline.schedule, Space::kFastScratch)),
        constant_bytes_(baseline.constants.size()),
        baseline_(baseline.schedule),
        best_(std::move(baseline)),
        cycles_(cycles_by_assumption(best_.schedule, context)),
        least_nominal_(cycles_.front()) {}

  Finished best() {
    const bool search = context_.options.optimize == Optimize::kSearch;
    // Shares of the memory for the tensors, in percent. Where -O2 waits, the first of them is nearly always the best.
    constexpr int64_t kShares[]{85, 70, 50};
    constexpr double kDependence = 1.1;
    const double worth_trying = search ? 1.03 : 1.1;
    const Target fast = with_a_fast_second_memory(context_.target), slow = with_twice_the_latencies(context_.target);
    const bool waits = slowdown(best_.schedule, context_, context_.target, fast) > worth_trying;
    const bool depends_on_latencies = slowdown(best_.schedule, context_, slow, context_.target) > kDependence;
    // Without the longer search for transfers of -O3, which would double its time. Where latencies matter, a plan for
    // longer ones is hardly slower with the baseline's: it copies weights that just arrive in time from slow memory.
    if (depends_on_latencies)
      consider(beginnings_.stripes, {.working_bytes = context_.working_bytes, .scales_apart = true, .target = &slow});
    if (search || !depends_on_latencies)
      consider(beginnings_.stripes, {.blocks = BlockChoice::kWorstRatio, .working_bytes = context_.working_bytes});
    if (search) consider(beginnings_.stripes, {.working_bytes = context_.working_bytes});
    if (waits && context_.options.variation.cascade_rows == 0 && context_.options.uses(Optimization::kCascades))
      consider_cascades(std::span(kShares).first(search ? 3 : 1));
    return std::move(best_);
  }

 private:
  void consider(Schedule schedule, const Way& way) {
    Options options = context_.options;
    options.optimize = way.optimize;
    auto plan =
        finish(std::move(schedule), beginnings_.material, context_for(context_, options, way, baseline_), threads_);
    if (!plan || needs_more(*plan)) return;
    if (!way.scales_apart) std::ranges::copy_if(best_.notes, std::back_inserter(plan->notes), is_about_cuts);
    std::vector<double> cycles = cycles_by_assumption(plan->schedule, context_);
    least_nominal_ = std::min(least_nominal_, cycles.front());
    if (!is_better_under_assumptions(cycles, cycles_, least_nominal_)) return;
    best_ = *std::move(plan);
    cycles_ = std::move(cycles);
  }

  // Cascades make room for copies of weights: the tensors get a share of the memory that the baseline plan needs.
  void consider_cascades(std::span<const int64_t> percents) {
    const bool in_arena = working_space(context_.target, context_.family) == Space::kArena;
    const int64_t bytes = in_arena ? arena_bytes_ : fast_bytes_;
    std::vector<int64_t> limits;
    for (const int64_t percent : percents) limits.push_back(bytes * percent / 100);
    auto cascaded = cascades_within(limits, beginnings_.whole, beginnings_.material, context_, threads_);
    if (!cascaded) return;
    for (Schedule& schedule : *cascaded) consider(cut_stripes(std::move(schedule), context_), {.working_bytes = bytes});
  }

  // More than the baseline plan, and than the user's limit. Weight streams in another order differ by up to a tenth.
  [[nodiscard]] bool needs_more(const Finished& plan) const {
    constexpr size_t kConstantsPercent = 110;
    const auto exceeds = [&](Space space, int64_t baseline_bytes) {
      const bool works = space == working_space(context_.target, context_.family);
      const int64_t limit = works ? context_.options.arena_budget_bytes : 0;
      return space_bytes(plan.schedule, space) > std::max(baseline_bytes, limit);
    };
    return exceeds(Space::kArena, arena_bytes_) || exceeds(Space::kFastScratch, fast_bytes_) ||
           plan.constants.size() * 100 > constant_bytes_ * kConstantsPercent;
  }

  const Beginnings& beginnings_;
  const Context& context_;
  ThreadPool& threads_;
  int64_t arena_bytes_;  // of the baseline plan, as the next two
  int64_t fast_bytes_;
  size_t constant_bytes_;
  Schedule baseline_;  // plans with the same storages of weights divide convolutions alike
  Finished best_;      // so far
  std::vector<double> cycles_;
  double least_nominal_;
};

bool has_many_weights(const Material& material) {
  constexpr size_t kMany = size_t{16} << 20;
  size_t values = 0;
  for (const Weights& weights : material.weights) values += weights.values.size();
  return values > kMany;
}

}  // namespace

bool is_planned_once(const Material& material, const Options& options) {
  if (options.optimize == Optimize::kSize || options.variation.blocks != Variation::Blocks::kCheapest ||
      !options.uses(Optimization::kAlternatives))
    return true;
  return options.optimize == Optimize::kSpeed && has_many_weights(material);
}

bool shares_encoded_weights(const Material& material, const Options& options) {
  return !is_planned_once(material, options) && !has_many_weights(material);
}

Finished best_alternative(Finished baseline, const Beginnings& beginnings, const Context& context,
                          ThreadPool& threads) {
  return Alternatives(std::move(baseline), beginnings, context, threads).best();
}

std::vector<double> cycles_by_assumption(const Schedule& schedule, const Context& context) {
  std::vector<double> cycles;
  for (const AssumedTarget& assumed : assumed_targets(context.target))
    cycles.push_back(std::max(1.0, cost_of(schedule, context.family, assumed.target, assumed.detail)));
  return cycles;
}

bool is_better_under_assumptions(std::span<const double> cycles, std::span<const double> best, double least_nominal) {
  constexpr double kNominalLoss = 1.01;
  const double most = kNominalLoss * least_nominal;
  if (cycles.front() > most) return false;
  if (best.front() > most) return true;
  double worst = 1, worst_of_best = 1;
  for (size_t i = 0; i < cycles.size(); ++i) {
    worst = std::max(worst, cycles[i] / best[i]);
    worst_of_best = std::max(worst_of_best, best[i] / cycles[i]);
  }
  return worst < worst_of_best;
}

}  // namespace carina::plan
