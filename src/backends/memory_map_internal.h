#pragma once

#include <vector>

#include "carina/memory_map.h"
#include "plan/schedule/schedule.h"

namespace carina::backends {

// Lists the buffers of working memory with their addresses and live ranges, ordered by the start of the live range.
std::vector<results::HeldBytes> memory_map(const plan::Schedule& schedule);

}  // namespace carina::backends
