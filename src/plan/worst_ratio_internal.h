#pragma once

#include "plan/family/context.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// Whether `other` is the better schedule of the same network if the cycle model may be wrong. It is if its cycles under
// the nominal model are at most 1 % more, and its worst ratio to the better of the two, over all assumptions of the
// model (npu/cost/assumptions.h), is smaller.
//   Example: cycles (nominal, latencies doubled) of `usual` are 100 and 140, of `other` 100.5 and 120. The worst ratio
//   of `usual` is 140 / 120 = 1.17, that of `other` is 100.5 / 100 = 1.005. `other` is better.
bool is_better_under_assumptions(const Schedule& other, const Schedule& usual, const Context& context);

}  // namespace carina::plan
