#include "plan/optimize/staged_copies_internal.h"

#include <algorithm>
#include <optional>

#include "plan/memory/live_ranges.h"
#include "plan/optimize/prefetch_sweep_internal.h"

namespace carina::plan {
namespace {

// Whether fixed copies read a copy: loads of its table.
bool is_table(const StageableNetwork& network, const PrefetchCopy& copy) {
  return read_of(network.problem.kernels[copy.users.front()], copy.object) == kFixedRead;
}

Command::Kind kind_of(const Schedule& schedule, const StageableNetwork& network, const PrefetchCopy& copy) {
  if (is_table(network, copy)) return Command::Kind::kStageTable;
  const WeightSlice& slice = schedule[schedule[network.stripes[copy.users.front()]].slice];
  return slice.stored == network.storages[copy.object] ? Command::Kind::kLoadWeights : Command::Kind::kLoadScales;
}

// Sets the copy that each stripe reads: one storage per copy.
void set_staged(Schedule& schedule, const StageableNetwork& network, const PrefetchPlan& plan, Space space) {
  for (const PrefetchCopy& copy : plan.copies) {
    const StorageId stored = network.storages[copy.object];
    const StorageId staged = schedule.add({.space = space, .bytes = schedule[stored].bytes});
    for (const size_t user : copy.users) {
      if (is_table(network, copy)) {
        schedule.stripes[network.stripes[user].index()].staged_table = staged;
        continue;
      }
      WeightSlice& slice = schedule.slices[schedule[network.stripes[user]].slice.index()];
      if (slice.stored == stored) {
        slice.staged = staged;
      } else {
        slice.staged_scales = staged;
      }
    }
  }
}

}  // namespace

std::vector<Command> order_with_copies(const Schedule& schedule, const StageableNetwork& network,
                                       const PrefetchPlan& plan, size_t kernels_after) {
  std::vector<Command> order;
  std::vector<PrefetchCommand> transfers = plan.commands;
  const auto stands_before = [&](const PrefetchCommand& c) { return std::min(c.during + kernels_after, c.user); };
  std::ranges::stable_sort(transfers, {}, stands_before);
  auto next = transfers.begin();
  const auto add_transfers = [&](size_t kernel) {
    for (; next != transfers.end() && stands_before(*next) <= kernel; ++next) {
      if (!next->copy) {
        order.push_back(network.table_loads[next->fixed]);
        continue;
      }
      const PrefetchCopy& copy = plan.copies[*next->copy];
      order.push_back({.kind = kind_of(schedule, network, copy),
                       .stripe = network.stripes[copy.users.front()],
                       .first_byte = next->first_byte,
                       .bytes = next->bytes});
    }
  };
  size_t kernel = 0;
  for (const Command& command : schedule.order) {
    if (command.kind == Command::Kind::kLoadTable) continue;
    add_transfers(kernel++);
    order.push_back(command);
  }
  return order;
}

Schedule with_copies(Schedule schedule, const StageableNetwork& network, const PrefetchPlan& plan, Space space) {
  set_staged(schedule, network, plan, space);
  schedule.order = order_with_copies(schedule, network, plan, 0);
  return schedule;
}

std::vector<CopyOfKernel> copies_that_do_not_fit(const Schedule& allocated, const Schedule& unallocated, Space space,
                                                 int64_t budget) {
  const std::vector<LiveRange> ranges = live_ranges(allocated);
  const auto is_over = [&](StorageId id) { return allocated[id].address + allocated[id].bytes > budget; };
  std::vector<LiveRange> over;  // of tensors
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (allocated.storages[i].space == space && ranges[i].used() && is_over(StorageId(i))) over.push_back(ranges[i]);
  }
  std::vector<CopyOfKernel> found;
  std::optional<std::pair<size_t, StorageId>> largest_during;
  int64_t largest = 0;
  size_t kernel = 0;
  const auto check = [&](StorageId copy, StorageId stored) {
    if (!copy.valid()) return;
    if (is_over(copy)) found.emplace_back(kernel, stored);
    const LiveRange& range = ranges[copy.index()];
    const bool during = std::ranges::any_of(
        over, [&](const LiveRange& other) { return range.first <= other.last && other.first <= range.last; });
    if (during && allocated[copy].bytes > largest) {
      largest = allocated[copy].bytes;
      largest_during = std::pair(kernel, stored);
    }
  };
  for (const Command& command : allocated.order) {
    if (command.kind != Command::Kind::kStripe) continue;
    if (const WeightSlice* slice = allocated.slice_of(command)) {
      const WeightSlice& original = unallocated[unallocated[command.stripe].slice];
      check(slice->staged, original.stored);
      check(slice->staged_scales, original.scales);
    }
    if (allocated.step_of(command).uses_table())
      check(allocated[command.stripe].staged_table, table_source(unallocated, unallocated[command.stripe]));
    ++kernel;
  }
  if (found.empty() && !over.empty() && largest_during) found.push_back(*largest_during);
  return found;
}

void take_back(PrefetchProblem& problem, const StageableNetwork& network,
               const std::vector<CopyOfKernel>& not_fitting) {
  for (const auto& [kernel, storage] : not_fitting) {
    const auto object = static_cast<size_t>(std::ranges::find(network.storages, storage) - network.storages.begin());
    if (!problem.late.emplace(kernel, object).second) problem.banned.emplace(kernel, object);
  }
}

}  // namespace carina::plan
