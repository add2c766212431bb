#pragma once

#include <cstdint>

#include "base/diagnostic.h"
#include "base/memory/memory_planner.h"
#include "plan/family/context.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// What the storages of a space take together once they are allocated, as a trial: results that may take the place of
// operands do.
int64_t allocated_bytes(Schedule schedule, Space space);

// What they cannot do without, whatever their addresses: the most bytes that live at one time.
int64_t lower_bound_bytes(const Schedule& schedule, Space space);

// Errors: a space would be larger than its limit: by how much, and which tensors live when it is fullest.
Result<Schedule> allocate_storages(Schedule schedule, const Context& context);

// The same, however large the working space becomes. `budget`: for that space. Errors: another space is too small.
Result<Schedule> allocate_without_limit(Schedule schedule, const Context& context, const SearchBudget& budget);

}  // namespace carina::plan
