#include "plan/schedule/staged_copies.h"

#include <algorithm>
#include <optional>

#include "plan/memory/lives.h"

namespace carina::plan {
namespace {

// Which stripes read from a copy, and from which: a storage per copy.
void set_staged(Schedule& schedule, const StageableNetwork& network, const PrefetchPlan& plan, Space space) {
  for (const PrefetchCopy& copy : plan.copies) {
    const StorageId stored = network.storages[copy.object];
    const StorageId staged = schedule.add({.space = space, .bytes = schedule[stored].bytes});
    for (const size_t user : copy.users) {
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
                                       const PrefetchPlan& plan, size_t kernels_behind) {
  std::vector<Command> order;
  std::vector<PrefetchCommand> transfers = plan.commands;
  const auto stands_before = [&](const PrefetchCommand& c) { return std::min(c.beside + kernels_behind, c.user); };
  std::ranges::stable_sort(transfers, {}, stands_before);
  auto next = transfers.begin();
  const auto add_transfers = [&](size_t kernel) {
    for (; next != transfers.end() && stands_before(*next) <= kernel; ++next) {
      if (!next->copy) {
        order.push_back(network.table_loads[next->fixed]);
        continue;
      }
      const PrefetchCopy& copy = plan.copies[*next->copy];
      const StripeId reader = network.stripes[copy.users.front()];
      const bool weights = schedule[schedule[reader].slice].stored == network.storages[copy.object];
      order.push_back({.kind = weights ? Command::Kind::kLoadWeights : Command::Kind::kLoadScales,
                       .stripe = reader,
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

std::vector<CopyOfKernel> copies_without_library(const Schedule& placed, const Schedule& unplaced, Space space,
                                              int64_t budget) {
  const std::vector<Life> lives = lives_of(placed);
  const auto is_over = [&](StorageId id) { return placed[id].address + placed[id].bytes > budget; };
  std::vector<Life> over;  // of tensors
  for (size_t i = 0; i < lives.size(); ++i) {
    if (placed.storages[i].space == space && lives[i].used() && is_over(StorageId(i))) over.push_back(lives[i]);
  }
  std::vector<CopyOfKernel> found;
  std::optional<std::pair<size_t, StorageId>> largest_beside;
  int64_t largest = 0;
  size_t kernel = 0;
  for (const Command& command : placed.order) {
    if (command.kind != Command::Kind::kStripe) continue;
    if (const WeightSlice* slice = placed.slice_of(command)) {
      const WeightSlice& original = unplaced[unplaced[command.stripe].slice];
      for (const auto& [copy, stored] :
           {std::pair(slice->staged, original.stored), std::pair(slice->staged_scales, original.scales)}) {
        if (!copy.valid()) continue;
        if (is_over(copy)) found.emplace_back(kernel, stored);
        const Life& life = lives[copy.index()];
        const bool beside = std::ranges::any_of(
            over, [&](const Life& other) { return life.first <= other.last && other.first <= life.last; });
        if (beside && placed[copy].bytes > largest) {
          largest = placed[copy].bytes;
          largest_beside = std::pair(kernel, stored);
        }
      }
    }
    ++kernel;
  }
  if (found.empty() && !over.empty() && largest_beside) found.push_back(*largest_beside);
  return found;
}

void take_back(PrefetchProblem& problem, const StageableNetwork& network,
               const std::vector<CopyOfKernel>& without_library) {
  for (const auto& [kernel, storage] : without_library) {
    const auto object = static_cast<size_t>(std::ranges::find(network.storages, storage) - network.storages.begin());
    if (!problem.late.emplace(kernel, object).second) problem.banned.emplace(kernel, object);
  }
}

}  // namespace carina::plan
