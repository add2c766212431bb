#include <algorithm>
#include <numeric>

#include "base/checked_math.h"
#include "interpret/arena_internal.h"

namespace carina::interpret {

namespace {

bool meet(const Block& a, const Block& b) {
  return a.first <= b.last && b.first <= a.last;
}

size_t lowest_free(const Block& block, const std::vector<const Block*>& placed_by_offset) {
  size_t offset = 0;
  for (const Block* other : placed_by_offset) {
    if (!meet(block, *other)) continue;
    if (offset + block.bytes <= other->offset) break;
    offset = std::max(offset, round_up(other->offset + other->bytes, kArenaAlignment));
  }
  return offset;
}

}  // namespace

std::optional<size_t> lay_out(std::span<Block> blocks) {
  size_t sum = 0;  // bounds every offset below
  for (const Block& block : blocks) {
    const auto next = checked_add(sum, block.bytes);
    if (!next || *next > SIZE_MAX / 2) return std::nullopt;
    sum = *next + kArenaAlignment;
  }
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<const Block*> placed;
  size_t total = 0;
  for (const size_t index : order) {
    Block& block = blocks[index];
    if (block.bytes == 0) continue;
    block.offset = lowest_free(block, placed);
    total = std::max(total, block.offset + block.bytes);
    placed.insert(std::ranges::upper_bound(placed, block.offset, {}, &Block::offset), &block);
  }
  return total;
}

}  // namespace carina::interpret
