#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace carina::pte {

// A tensor to place: its size and the steps in which it is alive, both ends included.
struct Lifetime {
  uint64_t bytes = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
};

struct MemoryPlan {
  std::vector<uint64_t> offsets;  // one per lifetime, 16-byte aligned
  uint64_t total_bytes = 0;       // a multiple of 16
};

// Places tensors so that two that are alive in the same step never overlap; largest first, each at the lowest free
// place.
MemoryPlan plan_memory(std::span<const Lifetime> tensors);

}  // namespace carina::pte
