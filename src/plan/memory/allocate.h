#pragma once

#include <cstdint>

#include "base/memory/memory_planner.h"
#include "carina/result.h"
#include "plan/family/context.h"
#include "plan/schedule/schedule.h"

// The memory planner's entry points: they give the storages of a schedule their addresses.
namespace carina::plan {

// By storage: the storage that holds its tensor after an allocation, if a result overwrites its operand; otherwise the
// storage itself.
std::vector<StorageId> sharing_storages(const Schedule& schedule);

// The bytes of a space after a trial allocation of its storages. The allocation may place results over operands. Its
// search ends when it takes no more than `enough_bytes`.
int64_t allocated_bytes(Schedule schedule, Space space, int64_t enough_bytes);

// The most bytes of a space that live at one time. No allocation takes less.
int64_t lower_bound_bytes(const Schedule& schedule, Space space);

// Allocates all storages. Errors: a space exceeds its limit; the message says by how much and which tensors live at the
// peak.
Result<Schedule> allocate_storages(Schedule schedule, const Context& context);

// Allocates all storages and ignores the limit of the working space. `budget` applies to the working space. Errors:
// another space is too small.
Result<Schedule> allocate_without_limit(Schedule schedule, const Context& context, const SearchBudget& budget);

}  // namespace carina::plan
