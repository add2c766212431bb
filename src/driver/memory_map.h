#pragma once

#include <vector>

#include "plan/schedule/schedule.h"
#include "report/memory_map.h"

namespace carina::driver {

// What stands where in working memory, and from when to when, in the order in which it comes.
std::vector<report::HeldBytes> memory_map(const plan::Schedule& schedule);

}  // namespace carina::driver
