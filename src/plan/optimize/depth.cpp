// What:   cuts convolutions that wait for weights in slow memory into stripes of their output channels, so that the
//         weights of one are copied while another runs, and a part of large weights can be read in place.
// Before: stripe p1 ofm={height=7 width=7 depth=1280}
// After:  stripe p1 ofm={height=7 width=7 depth=640}
//         stripe p2 ofm={c=640 height=7 width=7 depth=640}
//         Chooses between the blocks that are best for weights in place and for copies of them.
// Needs:  blocks, for weights in place; no slices.
// Gives:  stripes that cover their steps (rule 2), in whole bricks of channels, and their blocks.
// Legal:  an output channel needs no other; every element is computed once, from the same operands.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/checked_math.h"
#include "facts/npu_targets.h"
#include "plan/cost/kernel_cost.h"
#include "plan/optimize/blocks.h"
#include "plan/optimize/expected_slices_internal.h"
#include "plan/optimize/prefetch_problem_internal.h"
#include "plan/optimize/staging_internal.h"
#include "plan/optimize/transformations.h"

namespace carina::plan {
namespace {

// Replaces stripes by parts of their depth, at the same position in the order. `depths`: by stripe, the depths of its
// parts; one depth: unchanged.
Schedule with_parts(const Schedule& schedule, const std::vector<std::vector<int64_t>>& depths) {
  Schedule cut = schedule;
  cut.order.clear();
  for (const Command& command : schedule.order) {
    const size_t i = command.stripe.index();
    if (depths[i].size() < 2) {
      cut.order.push_back(command);
      continue;
    }
    Stripe part = schedule.stripes[i];
    for (const int64_t depth : depths[i]) {
      part.ofm.depth = depth;
      const bool is_first = part.ofm.c == schedule.stripes[i].ofm.c;
      const StripeId id = is_first ? command.stripe : StripeId(cut.stripes.size());
      if (!is_first) cut.stripes.push_back(part);
      cut.stripes[id.index()] = part;
      Command next = command;
      next.stripe = id;
      cut.order.push_back(next);
      part.ofm.c += depth;
    }
  }
  return cut;
}

// A schedule with the block of each stripe for weights in place, and that for weights in fast memory.
struct Alternatives {
  Schedule schedule;
  std::vector<BlockConfig> for_copies;
  int64_t at_the_cap = 0;  // convolutions with the largest permitted number of parts
  int64_t max_parts = 1;
  std::optional<PrefetchPlan> plan = {};  // of its copies with the whole budget, if it is known
};

// How finely convolutions are cut.
struct Fineness {
  int64_t max_parts = 1;  // of a convolution
  double dearest = 1;     // the cycles that all parts may take, divided by those of the whole convolution
  int64_t min_bytes = 1;  // of the weights of a part
};

// A coarse division costs little. A fine one pays where memory does not hold two of the coarse parts, and small parts
// where the convolutions are small.
std::vector<Fineness> finenesses(Optimize optimize) {
  constexpr double kLittle = 1.06, kMuch = 1.25;
  constexpr int64_t kUsual = 4096, kSmall = 1024;
  if (optimize != Optimize::kSearch) return {{16, kLittle, kUsual}, {16, kMuch, kUsual}, {16, kMuch, kSmall}};
  std::vector<Fineness> all;
  for (const int64_t max_parts : {2, 4, 8, 16, 32, 64}) all.push_back({max_parts, kLittle, kUsual});
  for (const int64_t max_parts : {8, 16, 64}) all.push_back({max_parts, kMuch, kUsual});
  for (const int64_t max_parts : {8, 16}) all.push_back({max_parts, kMuch, kSmall});
  return all;
}

class Cutter {
 public:
  Cutter(const Schedule& schedule, const Context& context, ThreadPool& threads)
      : schedule_(schedule),
        context_(context),
        threads_(threads),
        cost_(schedule, context.family, context.target),
        working_(working_space(context.target, context.family)),
        stripes_of_(schedule.steps.size(), 0),
        depths_(schedule.stripes.size()) {
    for (const Stripe& stripe : schedule.stripes) ++stripes_of_[stripe.step.index()];
  }

  // Divides stripes into as many parts as may help.
  bool cut_fine(const std::vector<BlockConfig>& for_copies, const Fineness& fineness) {
    bool any = false;
    fineness_ = fineness;
    const int64_t max_parts = fineness.max_parts;
    capped_parts_.assign(schedule_.stripes.size(), 0);
    for (size_t i = 0; i < schedule_.stripes.size(); ++i) {
      depths_[i] = parts_of(schedule_.stripes[i], for_copies[i], max_parts);
      if (depths_[i].size() > 1 &&
          parts_of(schedule_.stripes[i], for_copies[i], 2 * max_parts).size() > depths_[i].size())
        capped_parts_[i] = depths_[i].size();
      any = any || depths_[i].size() > 1;
    }
    return any;
  }
  [[nodiscard]] Alternatives alternatives() const {
    Alternatives both{.schedule = with_parts(schedule_, depths_),
                      .for_copies = {},
                      .at_the_cap = at_the_cap(),
                      .max_parts = fineness_.max_parts};
    std::vector<BlockQuestion> in_place, copied;
    for (size_t i = 0; i < both.schedule.stripes.size(); ++i) {
      const Stripe& stripe = both.schedule.stripes[i];
      const Step& step = schedule_[stripe.step];
      if (!step.weights.valid() || step.kind == StepKind::kDma || step.reads_written_weights()) continue;
      const bool is_part = i >= schedule_.stripes.size() || depths_[i].size() > 1;
      // Stripes that share weights need the same weight order.
      const auto like = stripes_of_[stripe.step.index()] > 1 ? std::optional(stripe.block) : std::nullopt;
      if (is_part) in_place.push_back({.stripe = StripeId(i)});
      copied.push_back({.stripe = StripeId(i), .like = like, .weights_from = working_});
    }
    answer(
        in_place, [&](size_t i, const BlockConfig& block) { both.schedule.stripes[i].block = block; }, both.schedule);
    for (const Stripe& stripe : both.schedule.stripes) both.for_copies.push_back(stripe.block);
    answer(copied, [&](size_t i, const BlockConfig& block) { both.for_copies[i] = block; }, both.schedule);
    return both;
  }

  // Divides stripes as the schedule `like` does.
  void cut_like(const Schedule& like) {
    std::vector<std::vector<const OfmBox*>> parts(schedule_.steps.size());
    for (const Stripe& stripe : like.stripes) parts[stripe.step.index()].push_back(&stripe.ofm);
    for (size_t i = 0; i < schedule_.stripes.size(); ++i) {
      const Stripe& stripe = schedule_.stripes[i];
      std::vector<const OfmBox*>& boxes = parts[stripe.step.index()];
      const auto is_part = [&](const OfmBox* box) {
        return box->height == stripe.ofm.height && box->width == stripe.ofm.width;
      };
      depths_[i].clear();
      if (stripes_of_[stripe.step.index()] != 1 || boxes.size() < 2 || !std::ranges::all_of(boxes, is_part)) continue;
      std::ranges::sort(boxes, {}, &OfmBox::c);
      for (const OfmBox* box : boxes) depths_[i].push_back(box->depth);
    }
  }

  // By stripe: the depths of its parts.
  [[nodiscard]] const std::vector<std::vector<int64_t>>& depths() const { return depths_; }

  // The number of convolutions with the largest permitted number of parts for which more parts could help.
  [[nodiscard]] int64_t at_the_cap() const {
    int64_t count = 0;
    for (size_t i = 0; i < capped_parts_.size(); ++i)
      count += capped_parts_[i] > 0 && depths_[i].size() == capped_parts_[i] ? 1 : 0;
    return count;
  }

  // Joins neighboring parts that gain nothing from the division: both are read in place, or both are copied before the
  // first runs.
  void join(const PrefetchPlan& plan) {
    std::vector<size_t> copied(plan.staged.size(), 0);  // by kernel: the kernel beside which its copy ends
    for (const PrefetchCopy& copy : plan.copies) {
      for (const size_t user : copy.users) copied[user] = copy.last_kernel;
    }
    size_t kernel = 0;
    for (const Command& command : schedule_.order) {
      std::vector<int64_t>& depths = depths_[command.stripe.index()];
      if (depths.size() < 2) {
        ++kernel;
        continue;
      }
      std::vector<int64_t> joined;
      size_t first = kernel;
      for (size_t i = 0; i < depths.size(); ++i, ++kernel) {
        const bool in_place = plan.staged[kernel] == 0 && plan.staged[first] == 0;
        const bool in_front = plan.staged[kernel] != 0 && plan.staged[first] != 0 && copied[kernel] < first;
        if (i > 0 && (in_place || in_front)) {
          joined.back() += depths[i];
        } else {
          joined.push_back(depths[i]);
          first = kernel;
        }
      }
      depths = std::move(joined);
    }
    CARINA_CHECK(kernel == plan.staged.size(), "{} kernels of {}", kernel, plan.staged.size());
  }

 private:
  template <typename Set>
  void answer(const std::vector<BlockQuestion>& questions, const Set& set, const Schedule& schedule) const {
    const auto blocks = best_blocks(schedule, questions, context_, threads_);
    for (size_t i = 0; i < questions.size(); ++i) {
      if (blocks[i]) set(questions[i].stripe.index(), *blocks[i]);
    }
  }

  [[nodiscard]] std::vector<int64_t> parts_of(const Stripe& stripe, const BlockConfig& for_copy,
                                              int64_t max_parts) const {
    const Step& step = schedule_[stripe.step];
    if (step.kind != StepKind::kConv || !step.weights.valid() || step.reads_written_weights() ||
        stripes_of_[stripe.step.index()] != 1)
      return {};
    if (stripe.ofm.depth <= npu::kBrickDepth || schedule_.space_of(step.ofm.tensor) == Space::kChaining) return {};
    const Step subop = subop_of(schedule_, stripe);
    const double in_place = cost_.of(subop, stripe.block, expected_feed(subop, stripe.block, context_)).total;
    Feed feed = expected_feed(subop, for_copy, context_);
    feed.weights_from = feed.scales_from = working_;
    const double staged = cost_.of(subop, for_copy, feed).total;
    constexpr double kWorthwhile = 1.05;
    if (in_place < kWorthwhile * staged || feed.weight_bytes < 2 * static_cast<double>(fineness_.min_bytes)) return {};
    // Parts have a cost of their own. If it is high, fewer parts are used.
    for (int64_t parts = std::min<int64_t>(max_parts, static_cast<int64_t>(feed.weight_bytes) / fineness_.min_bytes);
         parts > 1; parts /= 2) {
      const std::vector<int64_t> depths = even_parts(stripe, for_copy, parts);
      if (depths.size() > 1 && cycles_of(stripe, for_copy, depths) < fineness_.dearest * staged) return depths;
    }
    return {};
  }
  static std::vector<int64_t> even_parts(const Stripe& stripe, const BlockConfig& block, int64_t parts) {
    const int64_t whole = stripe.ofm.depth;
    // A part is a multiple of whole blocks if these are smaller than the part, otherwise of whole bricks.
    const int64_t wanted = ceil_div(whole, parts);
    const int64_t unit =
        block.depth < wanted ? round_up<int64_t>(block.depth, npu::kBrickDepth) : int64_t{npu::kBrickDepth};
    const int64_t each = round_up(wanted, unit);
    std::vector<int64_t> depths;
    for (int64_t c = 0; c < whole; c += each) depths.push_back(std::min(each, whole - c));
    return depths;
  }
  // The cycles of all parts, with their weights in fast memory.
  [[nodiscard]] double cycles_of(const Stripe& stripe, const BlockConfig& block,
                                 const std::vector<int64_t>& depths) const {
    Stripe part = stripe;
    part.ofm.depth = depths.front();
    const Step subop = subop_of(schedule_, part);
    BlockConfig clipped = block;
    clipped.depth = std::min(block.depth, round_up<int64_t>(depths.front(), npu::kBrickDepth));
    Feed feed = expected_feed(subop, clipped, context_);
    feed.weights_from = feed.scales_from = working_;
    return cost_.of(subop, clipped, feed).total * static_cast<double>(stripe.ofm.depth) /
           static_cast<double>(depths.front());
  }

  const Schedule& schedule_;
  const Context& context_;
  ThreadPool& threads_;
  KernelCost cost_;
  Space working_;
  Fineness fineness_;
  std::vector<size_t> capped_parts_;          // by stripe: its parts if max_parts_ limited them; otherwise 0
  std::vector<int> stripes_of_;               // by step
  std::vector<std::vector<int64_t>> depths_;  // by stripe: of its parts
};

struct Expected {
  PrefetchPlan plan;
  bool is_tight = false;  // a kernel runs without memory for its weights and those of the next one
};

// At -O2, divisions are compared with plans of copies that are searched for this part of the time. The plan of the
// division that is taken is searched again for all of it.
constexpr size_t kShorter = 4;

Expected expected_plan(const Alternatives& both, const Context& context, int64_t budget_bytes) {
  Schedule schedule = both.schedule;
  expect_slices(schedule, context, both.for_copies);
  PrefetchProblem problem = stageable(schedule, context, budget_bytes, both.for_copies).problem;
  if (context.options.optimize == Optimize::kSpeed) problem.max_work /= kShorter;
  const auto weights = [&](const PrefetchKernel& kernel) {
    int64_t bytes = 0;
    for (size_t r = 0; r < kernel.reads; ++r) bytes += problem.objects[kernel.objects[r]].bytes;
    return bytes;
  };
  const auto is_tight = [&](const PrefetchKernel& kernel, const PrefetchKernel& next) {
    return weights(kernel) + weights(next) > kernel.free_bytes;
  };
  const bool any = std::ranges::adjacent_find(problem.kernels, is_tight) != problem.kernels.end();
  return {.plan = plan_prefetch(problem), .is_tight = any};
}

// As above, and everything is allocated.
Result<StagedSchedule> expected_fit(const Alternatives& both, const Context& context) {
  Schedule schedule = both.schedule;
  expect_slices(schedule, context, both.for_copies);
  return fit_copies(schedule, context, FitPurpose::kComparison, both.for_copies, both.plan ? &*both.plan : nullptr);
}

// A division takes more bytes, so it has to be faster by this factor.
constexpr double kWorthDividing = 1.005;

// Whether a candidate that comes before or after another one in the order of candidates may be chosen although that
// one takes `cycles`. The plan of its copies assumes that no memory is lost between storages, so it is a lower bound;
// the timeline may be slightly below it.
bool may_be_chosen(const Alternatives& candidate, bool is_before, double cycles) {
  constexpr double kTimelineBelow = 1.01;
  if (!candidate.plan) return true;
  return is_before ? candidate.plan->cycles <= kTimelineBelow * kWorthDividing * cycles
                   : candidate.plan->cycles * kWorthDividing <= kTimelineBelow * cycles;
}

// Fits the candidate with the best plan, then the others that may be chosen beside it. Nothing is logged meanwhile,
// because logs are for one thread.
std::vector<std::optional<Result<StagedSchedule>>> all_fits(const std::vector<Alternatives>& candidates,
                                                            const Context& context, ThreadPool& threads) {
  const Log silent;
  const Context unheard{.family = context.family,
                        .target = context.target,
                        .options = context.options,
                        .log = silent,
                        .weights = context.weights,
                        .equal = context.equal,
                        .working_bytes = context.working_bytes,
                        .scales_apart = context.scales_apart};
  std::vector<std::optional<Result<StagedSchedule>>> fits(candidates.size());
  const auto planned = [](const Alternatives& candidate) {
    return candidate.plan ? candidate.plan->cycles : std::numeric_limits<double>::infinity();
  };
  const auto first = static_cast<size_t>(std::ranges::min_element(candidates, {}, planned) - candidates.begin());
  fits[first] = expected_fit(candidates[first], unheard);
  threads.parallel_for(candidates.size(), [&](size_t i) {
    if (i == first || (*fits[first] && !may_be_chosen(candidates[i], i < first, (*fits[first])->cycles))) return;
    fits[i] = expected_fit(candidates[i], unheard);
  });
  return fits;
}

// The blocks that the plan assumes.
Schedule with_blocks(Alternatives both, const PrefetchPlan& plan) {
  size_t kernel = 0;
  for (const Command& command : both.schedule.order) {
    const size_t i = command.stripe.index();
    if (plan.staged[kernel++] != 0) both.schedule.stripes[i].block = both.for_copies[i];
  }
  return std::move(both.schedule);
}

// The convolutions are divided as in `like`. Those whose weights are copied there have the blocks for copies.
Schedule with_cut(Cutter& cutter, const Schedule& like) {
  std::set<std::pair<StepId, int64_t>> copied;  // step, first channel
  for (const Stripe& stripe : like.stripes) {
    if (!stripe.slice.valid()) continue;
    const WeightSlice& slice = like[stripe.slice];
    if (slice.staged.valid() || slice.staged_scales.valid()) copied.emplace(stripe.step, stripe.ofm.c);
  }
  cutter.cut_like(like);
  Alternatives both = cutter.alternatives();
  for (size_t i = 0; i < both.schedule.stripes.size(); ++i) {
    Stripe& stripe = both.schedule.stripes[i];
    if (copied.contains({stripe.step, stripe.ofm.c})) stripe.block = both.for_copies[i];
  }
  return std::move(both.schedule);
}

constexpr std::string_view kNoMoreTried = ", and no more were tried";

}  // namespace

bool is_about_cuts(const Diagnostic& note) {
  return note.what.ends_with(kNoMoreTried);
}

Schedule cut_depth(Schedule schedule, const Context& context, ThreadPool& threads) {
  const auto& variation = context.options.variation;
  if (variation.staging == Variation::Staging::kNever || !context.options.uses(Optimization::kDepthSlices) ||
      !context.options.uses(Optimization::kStagedWeights))
    return schedule;
  const KernelCost cost(schedule, context.family, context.target);
  if (cost.port_of(Space::kConstants) == cost.port_of(working_space(context.target, context.family))) return schedule;
  const int64_t budget = staging_budget(schedule, context);
  Cutter cutter(schedule, context, threads);
  if (context.cut_like != nullptr) return with_cut(cutter, *context.cut_like);
  Alternatives whole = cutter.alternatives();
  whole.plan = expected_plan(whole, context, budget).plan;
  std::vector<Alternatives> candidates{whole};
  std::set<std::vector<std::vector<int64_t>>> cuts, joined;
  for (const Fineness& fineness : finenesses(context.options.optimize)) {
    log_phase(CompilePhase::kBlocks, context.log);
    if (!cutter.cut_fine(whole.for_copies, fineness) || !cuts.insert(cutter.depths()).second) continue;
    Alternatives fine = cutter.alternatives();
    Expected expected = expected_plan(fine, context, budget);
    cutter.join(expected.plan);
    if (joined.insert(cutter.depths()).second) {
      // All parts may be joined again; that plan is known.
      const bool is_whole = std::ranges::all_of(cutter.depths(), [](const auto& parts) { return parts.size() <= 1; });
      if (!is_whole) {
        candidates.push_back(cutter.alternatives());
        candidates.back().plan = expected_plan(candidates.back(), context, budget).plan;
      }
      const double joined_cycles = (is_whole ? whole : candidates.back()).plan->cycles;
      fine.plan = std::move(expected.plan);
      // Joined parts are in memory at the same time, which may leave too little for the copies of others.
      if (joined_cycles > kWorthDividing * fine.plan->cycles) candidates.push_back(std::move(fine));
    }
    if (!expected.is_tight) break;  // finer parts gain nothing
  }
  log_phase(CompilePhase::kBlocks, context.log);
  const std::vector<std::optional<Result<StagedSchedule>>> fits = all_fits(candidates, context, threads);
  std::optional<Schedule> best;
  double best_cycles = 0;
  int64_t at_the_cap = 0, max_parts = 1;
  for (size_t i = 0; i < candidates.size(); ++i) {
    Alternatives& candidate = candidates[i];
    if (!fits[i] || !*fits[i]) continue;
    const StagedSchedule& fit = **fits[i];
    if (best && fit.cycles * kWorthDividing >= best_cycles) continue;
    best_cycles = fit.cycles;
    at_the_cap = candidate.at_the_cap;
    max_parts = candidate.max_parts;
    best = with_blocks(std::move(candidate), fit.plan);
  }
  if (at_the_cap > 0)
    context.log.note(
        {.where = "weights",
         .what = fmt::format("{} of the convolutions are cut into {} parts{}", at_the_cap, max_parts, kNoMoreTried),
         .hint = context.options.optimize == Optimize::kSearch ? "" : "-O3 compares more",
         .severity = Severity::kNote});
  return best ? *std::move(best) : schedule;
}

}  // namespace carina::plan
