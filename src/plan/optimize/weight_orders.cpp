// What:   computes convolutions in blocks whose weights stand in the other order, where they take fewer bytes so and
//         the network hardly more cycles.
// Before: stripe block={height=8 width=8 depth=16 order=PART_KERNEL_FIRST}
// After:  stripe block={height=4 width=8 depth=16}
// Needs:  blocks and depths; no slices.
// Gives:  blocks that the family allows (rule 6), alike in depth and order for all stripes of a step.
// Legal:  as choose_blocks.
#include <algorithm>

#include "plan/cost/kernel_cost.h"
#include "plan/optimize/blocks.h"
#include "plan/optimize/expected_slices_internal.h"
#include "plan/optimize/transformations.h"

namespace carina::plan {
namespace {

// The share of all cycles that a share of the constants is worth.
double worth_of_bytes(Optimize optimize) {
  constexpr double kForSpeed = 0.3, kForSize = 3;
  return optimize == Optimize::kSize ? kForSize : kForSpeed;
}
constexpr double kMinSaved = 0.005;  // of all constants

double bytes_of(const Step& subop, const BlockConfig& block, const Context& context) {
  return expected_feed(subop, block, context).weight_bytes;
}

class Reorderer {
 public:
  Reorderer(const Schedule& schedule, const Context& context, ThreadPool& threads)
      : schedule_(schedule), context_(context), threads_(threads), changed_(schedule), stripes_(schedule.steps.size()) {
    for (size_t i = 0; i < schedule.stripes.size(); ++i) {
      const StepId step = schedule.stripes[i].step;
      if (has_orders(schedule[step])) stripes_[step.index()].emplace_back(i);
    }
  }

  // Returns the share of all weight bytes that other orders save, and the schedule with these orders.
  double run() {
    std::vector<BlockQuestion> questions;
    for (const std::vector<StripeId>& stripes : stripes_) {
      if (stripes.empty()) continue;
      const StripeId largest =
          *std::ranges::max_element(stripes, {}, [&](StripeId stripe) { return elements(schedule_[stripe]); });
      questions.push_back({.stripe = largest, .order = other(schedule_[largest].block.order)});
    }
    const auto blocks = best_blocks(schedule_, questions, context_, threads_);
    for (size_t i = 0; i < questions.size(); ++i) {
      const Stripe& stripe = schedule_[questions[i].stripe];
      const Step subop = subop_of(schedule_, stripe);
      const double now = bytes_of(subop, stripe.block, context_);
      all_bytes_ += now;
      if (!blocks[i]) continue;
      const double then = bytes_of(subop, *blocks[i], context_);
      if (then < now && take(stripe.step, *blocks[i])) saved_bytes_ += now - then;
    }
    return all_bytes_ == 0 ? 0 : saved_bytes_ / all_bytes_;
  }
  [[nodiscard]] Schedule changed() && { return std::move(changed_); }

 private:
  static bool has_orders(const Step& step) {
    return step.kind == StepKind::kConv && step.weights.valid() && !step.reads_written_weights() &&
           !step.multiplies_second;
  }
  static int64_t elements(const Stripe& stripe) { return stripe.ofm.height * stripe.ofm.width * stripe.ofm.depth; }
  static npu::WeightOrder other(npu::WeightOrder order) {
    return order == npu::WeightOrder::DEPTH_FIRST ? npu::WeightOrder::PART_KERNEL_FIRST : npu::WeightOrder::DEPTH_FIRST;
  }
  // Changes all stripes of a step, or none.
  bool take(StepId step, const BlockConfig& like) {
    std::vector<BlockQuestion> questions;
    for (const StripeId stripe : stripes_[step.index()])
      questions.push_back({.stripe = stripe, .like = like, .order = like.order});
    const auto blocks = best_blocks(schedule_, questions, context_, threads_);
    const auto fits = [&](const auto& block) {
      return block && block->depth == like.depth && block->ublock == like.ublock;
    };
    if (questions.size() > 1 && !std::ranges::all_of(blocks, fits)) return false;
    for (size_t i = 0; i < questions.size(); ++i) changed_.stripes[questions[i].stripe.index()].block = *blocks[i];
    return true;
  }

  const Schedule& schedule_;
  const Context& context_;
  ThreadPool& threads_;
  Schedule changed_;
  std::vector<std::vector<StripeId>> stripes_;  // by step: of those whose weights have orders
  double all_bytes_ = 0;
  double saved_bytes_ = 0;
};

}  // namespace

Schedule order_weights(Schedule schedule, const Context& context, ThreadPool& threads) {
  if (context.options.variation.blocks == Variation::Blocks::kSeeded || context.weights.empty() ||
      !context.options.uses(Optimization::kWeightOrders))
    return schedule;
  Reorderer reorderer(schedule, context, threads);
  const double saved = reorderer.run();
  if (saved < kMinSaved) return schedule;
  Schedule changed = std::move(reorderer).changed();
  const auto before = expected_cycles(schedule, context), after = expected_cycles(changed, context);
  if (!before || !after) return schedule;
  return *after <= *before * (1 + worth_of_bytes(context.options.optimize) * saved) ? changed : schedule;
}

}  // namespace carina::plan
