#pragma once

#include <span>
#include <vector>

#include "plan/family/context.h"
#include "plan/optimize/prefetch_internal.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// A schedule as a prefetch problem: one kernel per stripe, one object per storage of slices, one fixed copy per table
// load.
struct StageableNetwork {
  PrefetchProblem problem = {};
  std::vector<StripeId> stripes = {};     // by kernel
  std::vector<StorageId> storages = {};   // by object
  std::vector<Command> table_loads = {};  // by fixed copy
};

// Converts a schedule to a prefetch problem. `budget_bytes` is the limit of the working space. Slices that are read at
// full speed where they lie are not objects. `blocks_for_copies` gives the block of each stripe if it reads a copy;
// empty: the schedule's blocks.
StageableNetwork stageable(const Schedule& schedule, const Context& context, int64_t budget_bytes,
                           std::span<const BlockConfig> blocks_for_copies = {});

}  // namespace carina::plan
