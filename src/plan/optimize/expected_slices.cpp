#include "plan/optimize/expected_slices_internal.h"

#include <map>
#include <tuple>

#include "base/checked_math.h"
#include "facts/npu_targets.h"
#include "plan/cost/kernel_cost.h"
#include "plan/optimize/staging_internal.h"

namespace carina::plan {

void expect_slices(Schedule& schedule, const Context& context, std::span<const BlockConfig> blocks_for_copies) {
  std::map<std::tuple<WeightsId, int64_t, int64_t>, SliceId> known;  // first channel, channels
  for (size_t i = 0; i < schedule.stripes.size(); ++i) {
    Stripe& stripe = schedule.stripes[i];
    const Step subop = subop_of(schedule, stripe);
    const Feed feed = expected_feed(subop, blocks_for_copies.empty() ? stripe.block : blocks_for_copies[i], context);
    if (feed.scale_bytes == 0 || subop.reads_written_weights()) continue;
    const auto [entry, is_new] =
        known.emplace(std::tuple(subop.weights, subop.first_channel, subop.ofm.depth), SliceId(schedule.slices.size()));
    stripe.slice = entry->second;
    if (!is_new) continue;
    const auto scales = static_cast<int64_t>(feed.scale_bytes), weights = static_cast<int64_t>(feed.weight_bytes);
    const auto storage = [&](int64_t bytes) {
      return schedule.add({.space = Space::kConstants, .bytes = round_up<int64_t>(bytes, npu::kBaseAlignmentBytes)});
    };
    const bool apart = context.scales_apart && weights > 0;
    const StorageId stored = storage(apart ? weights : scales + weights),
                    stored_scales = apart ? storage(scales) : stored;
    schedule.slices.push_back(
        {.weights = subop.weights,
         .first_channel = subop.first_channel,
         .channels = subop.ofm.depth,
         .cores = {{.scale_bytes = scales, .weight_offset = apart ? 0 : scales, .weight_bytes = weights}},
         .stored = stored,
         .scales = stored_scales});
  }
}

std::optional<double> expected_cycles(Schedule schedule, const Context& context) {
  expect_slices(schedule, context);
  const auto fit = fit_copies(schedule, context, FitPurpose::kComparison);
  return fit ? std::optional(fit->cycles) : std::nullopt;
}

}  // namespace carina::plan
