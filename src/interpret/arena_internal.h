#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kernels/operator.h"

// The memory planner of the interpreter's arena.
namespace carina::interpret {

// Bytes that are live during the steps [first, last], both included.
struct Block {
  size_t bytes;
  size_t first;
  size_t last;
  size_t offset = 0;  // result: a multiple of kArenaAlignment
};
inline constexpr size_t kArenaAlignment = kernels::kScratchAlignment;

// Gives each block an offset such that blocks that live at the same time do not overlap. Returns the size of the arena.
// The largest block comes first; each gets the lowest offset that is free during its live range. Returns nothing if a
// sum does not fit size_t.
//   Example: A (128 bytes, steps 0-1), B (64 bytes, steps 1-2), C (64 bytes, steps 2-3): A at 0, B at 128, C at 0; 192
//   bytes.
std::optional<size_t> lay_out(std::span<Block> blocks);

}  // namespace carina::interpret
