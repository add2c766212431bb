#pragma once

#include <vector>

#include "plan/schedule/schedule.h"
#include "results/memory_map.h"

namespace carina::backends {

// What stands where in working memory, and from when to when, in the order in which it comes.
std::vector<results::HeldBytes> memory_map(const plan::Schedule& schedule);

}  // namespace carina::backends
