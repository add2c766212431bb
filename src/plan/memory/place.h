#pragma once

#include <cstdint>

#include "plan/schedule/schedule.h"

namespace carina::plan {

// What the storages of a space take together, and what they cannot do without: the most bytes that live at one time.
struct SpaceBytes {
  int64_t bytes = 0;
  int64_t bound_bytes = 0;
};
// Places them for a trial: results that may take the place of operands do.
SpaceBytes place_working_space(Schedule schedule, Space space);

}  // namespace carina::plan
