#pragma once

#include <cstdint>

#include "plan/schedule/schedule.h"

namespace carina::plan {

// What the storages of a space take together once they are allocated, as a trial: results that may take the place of
// operands do.
int64_t allocated_bytes(Schedule schedule, Space space);

// What they cannot do without, whatever their addresses: the most bytes that live at one time.
int64_t lower_bound_bytes(const Schedule& schedule, Space space);

}  // namespace carina::plan
