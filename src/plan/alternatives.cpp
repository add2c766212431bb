#include "plan/alternatives_internal.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "npu/cost/channel.h"
#include "plan/cost/assumed_targets.h"
#include "plan/cost/kernel_cost.h"
#include "plan/cost/timeline.h"
#include "plan/memory/allocate.h"
#include "plan/optimize/blocks.h"
#include "plan/optimize/transformations.h"

namespace carina::plan {
namespace {

// What differs between two variants of a plan.
struct Variant {
  Optimize optimize = Optimize::kSpeed;
  BlockChoice blocks = BlockChoice::kNominal;
  int64_t working_bytes = 0;
  bool scales_apart = false;
  const Target* target = nullptr;      // whose costs decide; none: the network's
  BlockCache* blocks_known = nullptr;  // the blocks that are known for `target`
};

// The most nominal cycles of a plan that is taken, relative to the least of all plans.
constexpr double kNominalLoss = 1.01;

Context context_for(const Context& context, const Options& options, const Variant& variant, const Schedule& cut_like) {
  return {.family = context.family,
          .target = variant.target != nullptr ? *variant.target : context.target,
          .options = options,
          .log = context.log,
          .weights = context.weights,
          .equal = context.equal,
          .working_bytes = variant.working_bytes,
          .block_choice = variant.blocks,
          .scales_apart = variant.scales_apart,
          .blocks = variant.target != nullptr ? variant.blocks_known : context.blocks,
          .slices = context.slices,
          .cut_like = variant.scales_apart ? nullptr : &cut_like};
}

// By stripe: its best block if its weights are read from fast memory; nothing if it reads none.
std::vector<std::optional<BlockConfig>> blocks_for_copies(const Schedule& schedule, const Context& context,
                                                          ThreadPool& threads) {
  std::vector<BlockQuestion> questions;
  for (size_t i = 0; i < schedule.stripes.size(); ++i) {
    const Step& step = schedule[schedule.stripes[i].step];
    if (step.kind == StepKind::kDma || !step.weights.valid() || step.reads_written_weights()) continue;
    questions.push_back({.stripe = StripeId(i), .weights_from = working_space(context.target, context.family)});
  }
  const auto answers = best_blocks(schedule, questions, context, threads);
  std::vector<std::optional<BlockConfig>> blocks(schedule.stripes.size());
  for (size_t i = 0; i < questions.size(); ++i) blocks[questions[i].stripe.index()] = answers[i];
  return blocks;
}

// The cycles in which the second memory hands out all weights and scales once. No plan with these slices takes fewer.
double cycles_of_reads(const Schedule& schedule, const Context& context) {
  std::vector<bool> is_read(schedule.storages.size(), false);
  for (const WeightSlice& slice : schedule.slices) is_read[slice.stored.index()] = is_read[slice.scales.index()] = true;
  int64_t bytes = 0;
  for (size_t i = 0; i < is_read.size(); ++i) {
    if (is_read[i] && schedule.storages[i].space == Space::kConstants) bytes += schedule.storages[i].bytes;
  }
  const KernelCost cost(schedule, context.family, context.target);
  const npu::MemoryPort& port = context.target.system.ports[cost.port_of(Space::kConstants)];
  return static_cast<double>(bytes) / npu::port_bytes_per_cycle(context.target.accelerator.product, port);
}

Target with_a_fast_second_memory(Target target) {
  target.system.ports[1] = target.system.ports[0];
  return target;
}

class Alternatives {
 public:
  Alternatives(Finished baseline, const StartingPoints& starts, const Context& context, ThreadPool& threads)
      : starts_(starts),
        context_(context),
        threads_(threads),
        arena_bytes_(space_bytes(baseline.schedule, Space::kArena)),
        fast_bytes_(space_bytes(baseline.schedule, Space::kFastScratch)),
        constant_bytes_(baseline.constants.size()),
        baseline_(baseline.schedule),
        best_(std::move(baseline)),
        least_nominal_(cycles_on(context.target)) {}

  Finished best() {
    // Shares of the memory for the tensors, in percent. Where -O2 waits, the first of them is nearly always the best.
    constexpr int64_t kShares[]{85, 70, 50};
    const double waits = least_nominal_ / cycles_on(with_a_fast_second_memory(context_.target));
    const Target slow = with_twice_the_latencies(context_.target);
    const double slow_cycles = cycles_on(slow);
    // Without the longer search for transfers of -O3, which would double its time. Where latencies matter, a plan for
    // longer ones is hardly slower with the baseline's: it copies weights that just arrive in time from slow memory.
    if (slow_cycles > kDependence * least_nominal_) consider_latencies(slow, slow_cycles);
    if (is_search()) {
      consider(starts_.stripes, {.blocks = BlockChoice::kWorstRatio, .working_bytes = context_.working_bytes});
      consider(starts_.stripes, {.working_bytes = context_.working_bytes});
    }
    if (waits > (is_search() ? 1.03 : 1.1) && context_.options.variation.cascade_rows == 0 &&
        context_.options.uses(Optimization::kCascades) && (is_search() || cascades_can_gain()))
      consider_cascades(std::span(kShares).first(is_search() ? 3 : 1));
    return std::move(best_);
  }

 private:
  static constexpr double kDependence = 1.1;
  static constexpr double kWorthwhile = 1.01;  // the least gain for which -O2 finishes another plan

  [[nodiscard]] bool is_search() const { return context_.options.optimize == Optimize::kSearch; }
  // The cycles of the baseline plan with other memories.
  [[nodiscard]] double cycles_on(const Target& target) const {
    return std::max(1.0, cost_of(baseline_, context_.family, target));
  }

  // Blocks, copies and stripes as if latencies were twice as long. If that plan is not the best, the blocks alone.
  void consider_latencies(const Target& slow, double slow_cycles) {
    BlockCache known;
    const Variant variant{
        .working_bytes = context_.working_bytes, .scales_apart = true, .target = &slow, .blocks_known = &known};
    Options options = context_.options;
    options.optimize = variant.optimize;
    const Context context = context_for(context_, options, variant, baseline_);
    const auto blocks = choose_blocks(starts_.stripes, context, threads_);
    if (!blocks) return;
    const auto copies = blocks_for_copies(*blocks, context, threads_);
    const double kernels = cycles_of_kernels(*blocks, context_, context_.target, copies);
    const double slow_kernels = cycles_of_kernels(*blocks, context_, slow, copies);  // no blocks take fewer cycles
    const bool can_win = kernels <= kNominalLoss * least_nominal_ && kernels <= most_in_kernels() &&
                         kWorthwhile * slow_kernels <= slow_cycles;
    if ((can_win || is_search()) && consider(starts_.stripes, variant)) return;
    if (cycles_of_kernels(baseline_, context_, slow) - slow_kernels >= (kWorthwhile - 1) * slow_cycles)
      consider_blocks_for_latencies(slow, slow_cycles);
  }

  // Blocks for longer latencies alone. Their plan loses less than that for which everything is chosen so.
  void consider_blocks_for_latencies(const Target& slow, double slow_cycles) {
    const Variant variant{.blocks = BlockChoice::kLatencies, .working_bytes = context_.working_bytes};
    Options options = context_.options;
    options.optimize = variant.optimize;
    const auto baseline = with_weights_copied(context_);  // the blocks are known
    const auto blocks = with_weights_copied(context_for(context_, options, variant, baseline_));
    if (!baseline || !blocks || std::ranges::equal(blocks->stripes, baseline->stripes)) return;
    const auto kernels = [&](const std::optional<Schedule>& schedule, const Target& target) {
      return cycles_of_kernels(*schedule, context_, target);
    };
    const double gain = kernels(baseline, slow) - kernels(blocks, slow);
    const double loss = kernels(blocks, context_.target) - kernels(baseline, context_.target);
    if (loss <= (kNominalLoss - 1) * least_nominal_ && gain >= (kWorthwhile - 1) * slow_cycles)
      consider(starts_.stripes, variant);
  }

  // The undivided stripes with their blocks: those for copies of weights, if the baseline copies any.
  [[nodiscard]] std::optional<Schedule> with_weights_copied(const Context& context) const {
    auto blocks = choose_blocks(starts_.stripes, context, threads_);
    if (!blocks) return std::nullopt;
    const auto is_copied = [](const WeightSlice& slice) { return slice.staged.valid(); };
    if (std::ranges::none_of(baseline_.slices, is_copied)) return *std::move(blocks);
    const auto copies = blocks_for_copies(*blocks, context, threads_);
    for (size_t i = 0; i < copies.size(); ++i) {
      if (copies[i]) blocks->stripes[i].block = *copies[i];
    }
    return *std::move(blocks);
  }

  // Returns whether the plan is the best so far.
  bool consider(Schedule schedule, const Variant& variant) {
    Options options = context_.options;
    options.optimize = variant.optimize;
    auto plan =
        finish(std::move(schedule), starts_.material, context_for(context_, options, variant, baseline_), threads_);
    if (!plan || needs_more(*plan)) return false;
    // A plan that loses too much nominally is rejected before its cycles under the other assumptions are counted.
    const double nominal = std::max(1.0, cost_of(plan->schedule, context_.family, context_.target));
    least_nominal_ = std::min(least_nominal_, nominal);
    if (nominal > kNominalLoss * least_nominal_) return false;
    if (!variant.scales_apart) std::ranges::copy_if(best_.notes, std::back_inserter(plan->notes), is_about_cuts);
    if (cycles_.empty()) cycles_ = cycles_by_assumption(best_.schedule, context_);
    std::vector<double> cycles = cycles_by_assumption(plan->schedule, context_);
    if (!is_better_under_assumptions(cycles, cycles_, least_nominal_)) return false;
    best_ = *std::move(plan);
    cycles_ = std::move(cycles);
    return true;
  }

  // The most cycles that the kernels of an alternative may take. Where the baseline hardly waits, an alternative waits
  // about as long, so its kernels are compared with those of the baseline. Elsewhere it may wait less.
  [[nodiscard]] double most_in_kernels() const {
    constexpr double kHardlyWaits = 1.1;
    const double kernels = cycles_of_kernels(baseline_, context_, context_.target);
    return least_nominal_ <= kHardlyWaits * kernels ? kNominalLoss * kernels : std::numeric_limits<double>::infinity();
  }

  // Whether plans of the baseline's slices can be clearly faster: not if the second memory hands out its weights all
  // the time, or the kernels run all the time.
  [[nodiscard]] bool cascades_can_gain() const {
    const double least =
        std::max(cycles_of_reads(baseline_, context_), cycles_of_kernels(baseline_, context_, context_.target));
    return kWorthwhile * least <= least_nominal_;
  }

  // Cascades make room for copies of weights: the tensors get a share of the memory that the baseline plan needs.
  void consider_cascades(std::span<const int64_t> percents) {
    const bool in_arena = working_space(context_.target, context_.family) == Space::kArena;
    const int64_t bytes = in_arena ? arena_bytes_ : fast_bytes_;
    std::vector<int64_t> limits;
    for (const int64_t percent : percents) limits.push_back(bytes * percent / 100);
    auto cascaded = cascades_within(limits, starts_.whole, starts_.material, context_, threads_);
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

  const StartingPoints& starts_;
  const Context& context_;
  ThreadPool& threads_;
  int64_t arena_bytes_;  // of the baseline plan, as the next two
  int64_t fast_bytes_;
  size_t constant_bytes_;
  Schedule baseline_;           // plans with the same storages of weights divide convolutions alike
  Finished best_;               // so far
  std::vector<double> cycles_;  // of the best plan, by assumption; empty until another one is compared with it
  double least_nominal_;
};

bool has_many_weights(const Material& material) {
  constexpr size_t kMany = size_t{16} << 20;
  size_t values = 0;
  for (const Weights& weights : material.weights) values += weights.values.size();
  return values > kMany;
}

}  // namespace

double cycles_of_kernels(const Schedule& schedule, const Context& context, const Target& target,
                         std::span<const std::optional<BlockConfig>> for_copies) {
  const KernelCost cost(schedule, context.family, target);
  const Space fast = working_space(target, context.family);
  double sum = 0;
  for (size_t i = 0; i < schedule.stripes.size(); ++i) {
    const Stripe& stripe = schedule.stripes[i];
    if (schedule[stripe.step].kind == StepKind::kDma) continue;
    const Step subop = subop_of(schedule, stripe);
    OperationCost operation(cost, subop);
    double least = std::numeric_limits<double>::infinity();
    const auto consider = [&](BlockConfig block) {
      Feed feed = expected_feed(subop, block, context);
      feed.weights_from = feed.scales_from = fast;
      least = std::min(least, operation.of(block, feed).total);
    };
    const auto consider_formats = [&](BlockConfig block) {
      consider(block);
      if (!has_fast_format(subop, context)) return;
      block.format = npu::WeightFormat::FWD;
      consider(block);
    };
    consider_formats(stripe.block);
    if (!for_copies.empty() && for_copies[i] && *for_copies[i] != stripe.block) consider_formats(*for_copies[i]);
    sum += least;
  }
  return sum;
}

bool is_planned_once(const Material& material, const Options& options) {
  if (options.optimize == Optimize::kSize || options.variation.blocks != Variation::Blocks::kCheapest ||
      !options.uses(Optimization::kAlternatives))
    return true;
  return options.optimize == Optimize::kSpeed && has_many_weights(material);
}

bool shares_encoded_weights(const Material& material, const Options& options) {
  return !is_planned_once(material, options) && !has_many_weights(material);
}

Finished best_alternative(Finished baseline, const StartingPoints& starts, const Context& context,
                          ThreadPool& threads) {
  return Alternatives(std::move(baseline), starts, context, threads).best();
}

std::vector<double> cycles_by_assumption(const Schedule& schedule, const Context& context) {
  std::vector<double> cycles;
  for (const AssumedTarget& assumed : assumed_targets(context.target))
    cycles.push_back(std::max(1.0, cost_of(schedule, context.family, assumed.target, assumed.detail)));
  return cycles;
}

bool is_better_under_assumptions(std::span<const double> cycles, std::span<const double> best, double least_nominal) {
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
