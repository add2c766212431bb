#pragma once

#include <span>
#include <vector>

#include "plan/family/context.h"
#include "plan/optimize/prefetch_internal.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// A schedule as the prefetcher sees it: a kernel per stripe, an object per storage that slices stand in, a fixed copy
// per table load.
struct StageableNetwork {
  PrefetchProblem problem = {};
  std::vector<StripeId> stripes = {};     // by kernel
  std::vector<StorageId> storages = {};   // by object
  std::vector<Command> table_loads = {};  // by fixed copy
};

// `budget_bytes`: what the working space may hold. Slices stay where they are (no objects) where that is no slower than
// the working space.
// `blocks_for_copies`: by stripe, in which block it is computed if it reads a copy; empty: the schedule's.
StageableNetwork stageable(const Schedule& schedule, const Context& context, int64_t budget_bytes,
                           std::span<const BlockConfig> blocks_for_copies = {});

}  // namespace carina::plan
