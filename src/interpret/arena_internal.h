#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace carina::interpret {

// Bytes that must exist during the steps [first, last], both included.
struct Block {
  size_t bytes;
  size_t first;
  size_t last;
  size_t offset = 0;  // out: multiple of kArenaAlignment
};
inline constexpr size_t kArenaAlignment = 64;

// Gives each block an offset such that blocks that live at the same time do not overlap; returns the bytes needed in
// all. Largest first, each at the lowest offset that is free during its life. Nothing when a sum does not fit size_t.
std::optional<size_t> lay_out(std::span<Block> blocks);

}  // namespace carina::interpret
