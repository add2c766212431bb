#pragma once

#include <vector>

#include "plan/schedule/cascade_rows.h"

namespace carina::plan {

// Adds cascades to a schedule in which every step is one stripe, in the order of the steps. The cascades are in order,
// share no step, and each can be planned.
Schedule with_cascades(Schedule schedule, const std::vector<Cascade>& cascades);

}  // namespace carina::plan
