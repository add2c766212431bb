#pragma once

#include <span>

#include "plan/family/context.h"
#include "plan/optimize/prefetch_internal.h"

namespace carina::plan {

// The budget of the working space, copies included. It is the user's limit if there is one; otherwise all of fast
// scratch, if the target has it; otherwise the network's own need plus 1/kUnaskedShare of it, or plus kUnaskedBytes if
// that is more.
inline constexpr int64_t kUnaskedShare = 8;
inline constexpr int64_t kUnaskedBytes = 32 * 1024;
int64_t staging_budget(const Schedule& schedule, const Context& context);

// A schedule with copies and addresses, and the plan that it follows.
struct StagedSchedule {
  Schedule schedule;
  PrefetchPlan plan;
  double cycles = 0;             // of the time line, with the blocks that the plan assumes
  bool limit_too_small = false;  // copies would be faster, but none fits the user's limit
};
// What a staging is for. A result is also allocated in as little memory as possible.
enum class FitPurpose : uint8_t { kComparison, kResult };

// Finds the fastest staging that fits the budget together with everything else. `blocks_for_copies`: as in stageable().
// `known`: plan_prefetch() of stageable() with the whole budget, if the caller has it. Errors: as allocate_storages().
Result<StagedSchedule> fit_copies(const Schedule& schedule, const Context& context, FitPurpose purpose,
                                  std::span<const BlockConfig> blocks_for_copies = {},
                                  const PrefetchPlan* known = nullptr);

}  // namespace carina::plan
