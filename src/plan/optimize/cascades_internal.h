#pragma once

#include <vector>

#include "plan/schedule/cascade_rows.h"

namespace carina::plan {

// `schedule`, in which every step is one stripe and the order is that of the steps, with these cascades (in order,
// sharing no step, each of which can be planned).
Schedule with_cascades(Schedule schedule, const std::vector<Cascade>& cascades);

}  // namespace carina::plan
