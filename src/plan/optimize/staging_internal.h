#pragma once

#include <span>

#include "plan/family/context.h"
#include "plan/optimize/prefetch_internal.h"

namespace carina::plan {

// What the working space may hold, copies included: what the user asked for, else all fast scratch, else so much more
// than the network needs for itself (a part of kUnaskedShare), or kUnaskedBytes if that is more.
inline constexpr int64_t kUnaskedShare = 8;
inline constexpr int64_t kUnaskedBytes = 32 * 1024;
int64_t staging_budget(const Schedule& schedule, const Context& context);

// A schedule with copies, all of its storages placed, and the plan that it follows.
struct StagedSchedule {
  Schedule schedule;
  PrefetchPlan plan;
  double cycles = 0;             // of the time line, in the blocks that the plan counts on
  bool limit_too_small = false;  // copies would have paid, but none fits the limit that was asked for
};
// The fastest staging that is found to fit the budget together with everything else. `blocks_for_copies`: as stageable()
// takes them. Errors: as allocate_storages().
Result<StagedSchedule> fit_copies(const Schedule& schedule, const Context& context,
                                  std::span<const BlockConfig> blocks_for_copies);

}  // namespace carina::plan
