#pragma once

#include "plan/select/selection.h"

namespace carina::plan {

// What a step takes in the cheapest of its blocks, in cycles of the NPU, maps read and written through the arena's port
// beside it; weights are left out. For choices between forms of one operator.
double cycles_of(const Selection& s, const Step& step);

}  // namespace carina::plan
