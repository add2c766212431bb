#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "plan/optimize/prefetch_internal.h"
#include "plan/optimize/prefetch_problem_internal.h"
#include "plan/schedule/schedule.h"

// What a prefetch plan makes of a schedule, and what is taken back of the plan where that finds no place.
namespace carina::plan {

// The commands in their new order: stripes as before, transfers so many kernels behind the first beside which they may
// run, but in front of their readers.
std::vector<Command> order_with_copies(const Schedule& schedule, const StageableNetwork& network,
                                       const PrefetchPlan& plan, size_t kernels_behind);

// With a storage per copy, which slices read, and the commands in order.
Schedule with_copies(Schedule schedule, const StageableNetwork& network, const PrefetchPlan& plan, Space space);

// A kernel that reads a copy, and the storage among the constants that it is a copy of.
using CopyOfKernel = std::pair<size_t, StorageId>;

// Copies that a placed schedule has no room for: those that end behind the budget, and the largest beside a tensor that
// does. Storages are those of `unallocated`: placing renames them.
std::vector<CopyOfKernel> copies_that_do_not_fit(const Schedule& allocated, const Schedule& unallocated, Space space,
                                                 int64_t budget_bytes);

// Copies that do not fit come later; if that was not enough, not at all.
void take_back(PrefetchProblem& problem, const StageableNetwork& network, const std::vector<CopyOfKernel>& not_fitting);

}  // namespace carina::plan
