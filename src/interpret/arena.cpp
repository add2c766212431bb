#include <algorithm>

#include "base/checked_math.h"
#include "base/memory/memory_planner.h"
#include "interpret/arena_internal.h"

namespace carina::interpret {

std::optional<size_t> lay_out(std::span<Block> blocks) {
  size_t sum = 0;  // bounds every offset below
  std::vector<MemoryRequest> requests;
  for (const Block& block : blocks) {
    const auto next = checked_add(sum, block.bytes);
    if (!next || *next > SIZE_MAX / 4) return std::nullopt;
    sum = *next + kArenaAlignment;
    requests.push_back({.bytes = static_cast<int64_t>(block.bytes),
                        .first = static_cast<int64_t>(block.first),
                        .last = static_cast<int64_t>(block.last)});
  }
  const MemoryPlan plan = plan_memory(requests, int64_t{kArenaAlignment}, PlanStrategy::kFirstFit);
  size_t total = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].offset = static_cast<size_t>(plan.offsets[i]);
    total = std::max(total, blocks[i].offset + blocks[i].bytes);
  }
  return total;
}

}  // namespace carina::interpret
