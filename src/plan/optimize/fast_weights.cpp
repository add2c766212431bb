// What:   stores the weights of operations that wait for their decoders in the format that is decoded faster.
// Before: stripe block={height=1 width=1 depth=64}
// After:  stripe block={height=1 width=1 depth=64 format=FWD}
// Needs:  blocks, depths and orders; no slices.
// Gives:  one format for all stripes of a step.
// Legal:  a format changes how weights are stored, never their values.
//
// The fast format takes more bytes, so it is used only where the whole network gains: the finished copies of weights
// are compared with and without it, first for all operations that gain with weights in fast memory, then for those that
// also gain where their weights are stored. Random weights take as many bytes in both formats: then an operation that
// waits for memory takes the same cycles, and fewer if that memory is faster than assumed. Such operations have it if
// no other has.
//   Example: 1x1 convolution of one pixel, 576 to 1024 channels on 256 MACs. The MAC units need 2,304 cycles and the
//   standard decoder 95,756; the fast one decodes 32 weights in a cycle and takes 23,939.
#include <algorithm>
#include <optional>

#include "plan/cost/kernel_cost.h"
#include "plan/optimize/blocks.h"
#include "plan/optimize/expected_slices_internal.h"
#include "plan/optimize/transformations.h"

namespace carina::plan {
namespace {

constexpr double kWorthwhile = 0.99;  // of an operation's cycles
constexpr double kEqual = 1.005;      // of bytes and cycles, which are estimates

class FastCandidates {
 public:
  FastCandidates(const Schedule& schedule, const Context& context)
      : schedule_(schedule),
        context_(context),
        cost_(schedule, context.family, context.target),
        stripes_(schedule.steps.size()) {
    for (size_t i = 0; i < schedule.stripes.size(); ++i) stripes_[schedule.stripes[i].step.index()].push_back(i);
  }

  // The schedule with the fast format in each step that gains by it if its weights are read from `space`; nothing if no
  // step does.
  [[nodiscard]] std::optional<Schedule> changed(Space space) const {
    return changed_where([&](size_t step) { return gaining_order(stripes_[step], space); });
  }
  // As above, in each step that gains in fast memory, and whose weights take as many bytes in both formats.
  [[nodiscard]] std::optional<Schedule> changed_where_bytes_are_equal() const {
    return changed_where([&](size_t step) -> std::optional<npu::WeightOrder> {
      const auto order = gaining_order(stripes_[step], working_space(context_.target, context_.family));
      return order && takes_no_more_bytes(stripes_[step], *order) ? order : std::nullopt;
    });
  }

 private:
  [[nodiscard]] std::optional<Schedule> changed_where(const auto& order_of) const {
    std::optional<Schedule> result;
    for (size_t step = 0; step < stripes_.size(); ++step) {
      if (!has_fast_format(schedule_.steps[step], context_)) continue;
      const std::optional<npu::WeightOrder> order = order_of(step);
      if (!order) continue;
      if (!result) result = schedule_;
      for (const size_t stripe : stripes_[step])
        result->stripes[stripe].block = in_fast_format(schedule_.stripes[stripe].block, *order);
    }
    return result;
  }

  static BlockConfig in_fast_format(BlockConfig block, npu::WeightOrder order) {
    block.order = order;
    block.format = npu::WeightFormat::FWD;
    return block;
  }

  // The order of weights with which the fast format takes the fewest cycles, if it gains. The order that is best in the
  // standard format, where padding zeros are decoded fast, may not be.
  [[nodiscard]] std::optional<npu::WeightOrder> gaining_order(const std::vector<size_t>& stripes, Space space) const {
    double now = 0;
    for (const size_t i : stripes) {
      const Stripe& stripe = schedule_.stripes[i];
      now += cycles(subop_of(schedule_, stripe), stripe.block, space);
    }
    std::optional<npu::WeightOrder> best;
    double least = kWorthwhile * now;
    for (const npu::WeightOrder order : {npu::WeightOrder::DEPTH_FIRST, npu::WeightOrder::PART_KERNEL_FIRST}) {
      double sum = 0;
      for (const size_t i : stripes) {
        const Stripe& stripe = schedule_.stripes[i];
        sum += cycles(subop_of(schedule_, stripe), in_fast_format(stripe.block, order), space);
      }
      if (sum >= least || !are_legal(stripes, order)) continue;
      best = order;
      least = sum;
    }
    return best;
  }
  // Whether the fast format takes no more bytes than the weights without padding do in the standard format.
  [[nodiscard]] bool takes_no_more_bytes(const std::vector<size_t>& stripes, npu::WeightOrder order) const {
    return std::ranges::all_of(stripes, [&](size_t i) {
      const Stripe& stripe = schedule_.stripes[i];
      const Step subop = subop_of(schedule_, stripe);
      const int64_t depth = subop.kind == StepKind::kDepthwise ? 1 : subop.ifm.depth;
      const auto weights = static_cast<double>(subop.kernel.taps() * depth * subop.ofm.depth);
      return expected_feed(subop, in_fast_format(stripe.block, order), context_).weight_bytes <=
             kEqual * weights * context_.weights[subop.weights.index()].bits_per_weight / 8;
    });
  }
  [[nodiscard]] bool are_legal(const std::vector<size_t>& stripes, npu::WeightOrder order) const {
    return std::ranges::all_of(stripes, [&](size_t i) {
      BlockConfig block = schedule_.stripes[i].block;
      if (block.order == order) return true;
      block.order = order;
      const auto legal = context_.family.legal_blocks(subop_of(schedule_, schedule_.stripes[i]), context_.target);
      return std::ranges::find(legal, block) != legal.end();
    });
  }
  [[nodiscard]] double cycles(const Step& subop, const BlockConfig& block, Space space) const {
    Feed feed = expected_feed(subop, block, context_);
    feed.weights_from = feed.scales_from = space;
    return cost_.of(subop, block, feed).total;
  }

  const Schedule& schedule_;
  const Context& context_;
  KernelCost cost_;
  std::vector<std::vector<size_t>> stripes_;  // by step
};

}  // namespace

Schedule store_for_fast_decoder(Schedule schedule, const Context& context) {
  const Options& options = context.options;
  if (!context.family.abilities.fast_weights || options.optimize == Optimize::kSize ||
      options.variation.blocks == Variation::Blocks::kSeeded || !options.uses(Optimization::kFastWeights))
    return schedule;
  const FastCandidates candidates(schedule, context);
  std::optional<double> before;
  for (const Space space : {working_space(context.target, context.family), Space::kConstants}) {
    std::optional<Schedule> changed = candidates.changed(space);
    if (!changed) break;
    if (!before) before = expected_cycles(schedule, context);
    const auto after = expected_cycles(*changed, context);
    if (before && after && *after < *before) return *std::move(changed);
  }
  std::optional<Schedule> changed = candidates.changed_where_bytes_are_equal();
  if (!changed) return schedule;
  if (!before) before = expected_cycles(schedule, context);
  const auto after = expected_cycles(*changed, context);
  return before && after && *after <= kEqual * *before ? *std::move(changed) : schedule;
}

}  // namespace carina::plan
