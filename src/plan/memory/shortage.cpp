#include "plan/memory/shortage.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/memory/live_ranges.h"

namespace carina::plan {
namespace {

std::string text_of(int64_t bytes) {
  return fmt::format("{} bytes", bytes);
}

// The content of a storage, for messages: the first tensor in it, or weights.
std::string content_of(const Schedule& schedule, StorageId storage) {
  for (const PlanTensor& tensor : schedule.tensors) {
    if (tensor.storage != storage) continue;
    const int64_t rows = schedule[storage].rolling_rows;
    return fmt::format("{}{} {}", rows > 0 ? fmt::format("{} rows of ", rows) : "", tensor.name,
                       to_string(tensor.shape));
  }
  for (const Stripe& stripe : schedule.stripes) {
    if (stripe.staged_table == storage)
      return fmt::format("{} table [{}]", schedule[stripe.step].name, schedule[storage].bytes);
    if (!stripe.slice.valid()) continue;
    const WeightSlice& slice = schedule[stripe.slice];
    if (slice.staged == storage || slice.staged_scales == storage)
      return fmt::format("{} weights [{}]", schedule[stripe.step].name, schedule[storage].bytes);
  }
  return "nothing";
}

std::vector<StorageId> live_at(const Schedule& schedule, const std::vector<LiveRange>& ranges, Space space,
                               int64_t time) {
  std::vector<StorageId> live;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].used() && schedule.storages[i].space == space && ranges[i].first <= time && time <= ranges[i].last)
      live.emplace_back(i);
  }
  std::ranges::stable_sort(live, std::greater<>(), [&](StorageId id) { return schedule[id].bytes; });
  return live;
}

// The first time at which the number of live bytes is largest.
int64_t fullest_time(const Schedule& schedule, const std::vector<LiveRange>& ranges, Space space) {
  std::vector<int64_t> change(schedule.order.size() + 3, 0);
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i].used() || schedule.storages[i].space != space) continue;
    change[static_cast<size_t>(ranges[i].first)] += schedule.storages[i].bytes;
    change[static_cast<size_t>(ranges[i].last) + 1] -= schedule.storages[i].bytes;
  }
  int64_t now = 0, max = -1, fullest = 0;
  for (size_t time = 0; time < change.size(); ++time) {
    now += change[time];
    if (now > max) max = now, fullest = static_cast<int64_t>(time);
  }
  return fullest;
}

std::string operator_at(const Schedule& schedule, int64_t time) {
  if (schedule.order.empty()) return "the network";
  const auto last = static_cast<int64_t>(schedule.order.size());
  return schedule.step_of(schedule.order[static_cast<size_t>(std::clamp<int64_t>(time, 1, last) - 1)]).name;
}

}  // namespace

Diagnostic shortage(const Schedule& schedule, Space space, int64_t total_bytes, int64_t limit_bytes) {
  const std::vector<LiveRange> ranges = live_ranges(schedule);
  const int64_t time = fullest_time(schedule, ranges, space);
  const std::vector<StorageId> live = live_at(schedule, ranges, space, time);
  std::string names;
  constexpr size_t kNamed = 5;
  for (size_t i = 0; i < std::min(kNamed, live.size()); ++i) {
    names +=
        fmt::format("{}{} ({})", i == 0 ? "" : ", ", content_of(schedule, live[i]), text_of(schedule[live[i]].bytes));
  }
  return {.where = std::string(kShortage),
          .what = fmt::format("the network does not fit the NPU's memory by {}", text_of(total_bytes - limit_bytes)),
          .expected = fmt::format("at most {}", text_of(limit_bytes)),
          .got = text_of(total_bytes),
          .hint = fmt::format("the most memory is in use in {}: {}", operator_at(schedule, time), names)};
}

}  // namespace carina::plan
