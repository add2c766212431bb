#include "plan/optimize/expected_slices_internal.h"

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/checked_math.h"
#include "facts/npu_targets.h"
#include "plan/cost/kernel_cost.h"
#include "plan/optimize/staging_internal.h"

namespace carina::plan {

namespace {

// The storages of slices, as encode_slices() will make them (SliceStore in slices.cpp).
class ExpectedStore {
 public:
  ExpectedStore(Schedule& schedule, const Context& context) : schedule_(schedule), context_(context) {
    for (const Stripe& stripe : schedule.stripes) {
      const Step& step = schedule[stripe.step];
      if (!step.weights.valid()) continue;
      const auto [first, is_new] = scales_of_.emplace(values_of(step.weights), scales_of(step.weights));
      if (!is_new && first->second != scales_of(step.weights)) apart_.insert(values_of(step.weights));
    }
  }
  // The slice of a subop.
  WeightSlice slice_of(const Step& subop, const Feed& feed) {
    const auto scale_bytes = static_cast<int64_t>(feed.scale_bytes);
    const auto weight_bytes = static_cast<int64_t>(feed.weight_bytes);
    const WeightsId values = values_of(subop.weights), scales = scales_of(subop.weights);
    const bool apart = weight_bytes > 0 && (context_.scales_apart || apart_.contains(values));
    WeightSlice slice{
        .weights = subop.weights,
        .first_channel = subop.first_channel,
        .channels = subop.ofm.depth,
        .cores = {{.scale_bytes = scale_bytes, .weight_offset = apart ? 0 : scale_bytes, .weight_bytes = weight_bytes}},
        .zeros_per_million = std::llround(feed.zero_rate * 1e6)};
    const auto storage = [&](WeightsId of_values, WeightsId of_scales, int64_t bytes) {
      const auto [entry, is_new] =
          known_.emplace(std::tuple(of_values, of_scales, subop.first_channel, subop.ofm.depth), StorageId());
      if (is_new)
        entry->second =
            schedule_.add({.space = Space::kConstants, .bytes = round_up<int64_t>(bytes, npu::kBaseAlignmentBytes)});
      return entry->second;
    };
    slice.stored = apart ? storage(values, {}, weight_bytes) : storage(values, scales, scale_bytes + weight_bytes);
    slice.scales = apart ? storage({}, scales, scale_bytes) : slice.stored;
    return slice;
  }

 private:
  [[nodiscard]] WeightsId values_of(WeightsId id) const {
    return id.index() < context_.equal.size() ? context_.equal[id.index()].values : id;
  }
  [[nodiscard]] WeightsId scales_of(WeightsId id) const {
    return id.index() < context_.equal.size() ? context_.equal[id.index()].scales : id;
  }

  Schedule& schedule_;
  const Context& context_;
  std::map<WeightsId, WeightsId> scales_of_;  // by values: the scales of their first reader
  std::set<WeightsId> apart_;                 // values that are read with several scales
  std::map<std::tuple<WeightsId, WeightsId, int64_t, int64_t>, StorageId> known_;  // values, scales, channels
};

}  // namespace

void expect_slices(Schedule& schedule, const Context& context, std::span<const BlockConfig> blocks_for_copies) {
  ExpectedStore store(schedule, context);
  for (size_t i = 0; i < schedule.stripes.size(); ++i) {
    Stripe& stripe = schedule.stripes[i];
    const Step subop = subop_of(schedule, stripe);
    const Feed feed = expected_feed(subop, blocks_for_copies.empty() ? stripe.block : blocks_for_copies[i], context);
    if (feed.scale_bytes == 0 || subop.reads_written_weights()) continue;
    stripe.slice = SliceId(schedule.slices.size());
    schedule.slices.push_back(store.slice_of(subop, feed));
  }
}

std::optional<double> expected_cycles(Schedule schedule, const Context& context) {
  expect_slices(schedule, context);
  const auto fit = fit_copies(schedule, context, FitPurpose::kComparison);
  return fit ? std::optional(fit->cycles) : std::nullopt;
}

}  // namespace carina::plan
