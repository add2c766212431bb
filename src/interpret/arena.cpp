#include <algorithm>

#include "base/checked_math.h"
#include "base/place.h"
#include "interpret/arena_internal.h"

namespace carina::interpret {

std::optional<size_t> lay_out(std::span<Block> blocks) {
  size_t sum = 0;  // bounds every offset below
  std::vector<Interval> intervals;
  for (const Block& block : blocks) {
    const auto next = checked_add(sum, block.bytes);
    if (!next || *next > SIZE_MAX / 4) return std::nullopt;
    sum = *next + kArenaAlignment;
    intervals.push_back({.bytes = static_cast<int64_t>(block.bytes),
                         .first = static_cast<int64_t>(block.first),
                         .last = static_cast<int64_t>(block.last)});
  }
  const Placement placed = place(intervals, int64_t{kArenaAlignment}, Placing::kFirstFit);
  size_t total = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].offset = static_cast<size_t>(placed.offsets[i]);
    total = std::max(total, blocks[i].offset + blocks[i].bytes);
  }
  return total;
}

}  // namespace carina::interpret
