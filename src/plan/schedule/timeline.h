#pragma once

#include "plan/family/family.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// The cycles of a whole schedule from its first command to the end of its last, by which a search compares schedules:
// stripes one after the other, transfers beside them, as the command parser lets them, sharing ports. Commands of a
// schedule that is not placed wait for what they read, but not for what else stands where they write.
double cost_of(const Schedule& schedule, const Family& family, const Target& target);

}  // namespace carina::plan
