#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "plan/optimize/prefetch_internal.h"
#include "plan/optimize/prefetch_problem_internal.h"
#include "plan/schedule/schedule.h"

// Applies a prefetch plan to a schedule, and removes copies from the plan that cannot be allocated.
namespace carina::plan {

// The commands in their new order. Stripes keep their order. A transfer comes a given number of kernels after the first
// kernel with which it may overlap, but before its readers.
std::vector<Command> order_with_copies(const Schedule& schedule, const StageableNetwork& network,
                                       const PrefetchPlan& plan, size_t kernels_after);

// Adds a storage per copy, lets the slices read it, and puts the commands in order.
Schedule with_copies(Schedule schedule, const StageableNetwork& network, const PrefetchPlan& plan, Space space);

// A kernel that reads a copy, and the constant storage that is copied.
using CopyOfKernel = std::pair<size_t, StorageId>;

// The copies of an allocated schedule that do not fit: copies that end beyond the budget, and the largest copy beside
// each tensor that ends beyond it. The storages are those of `unallocated`, because the allocation renumbers them.
std::vector<CopyOfKernel> copies_that_do_not_fit(const Schedule& allocated, const Schedule& unallocated, Space space,
                                                 int64_t budget_bytes);

// Delays the copies that do not fit. Bans those that were delayed before.
void take_back(PrefetchProblem& problem, const StageableNetwork& network, const std::vector<CopyOfKernel>& not_fitting);

}  // namespace carina::plan
