#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace carina::plan {

// A buffer that needs `bytes` of one address space from time `first` to time `last`, both included.
struct Buffer1D {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
};

struct Allocation {
  std::vector<int64_t> addresses = {};  // per buffer, multiples of the alignment
  int64_t total_bytes = 0;
};

// Places buffers so that no two that live at the same time overlap, in as little space as a bounded search finds:
// largest first into the lowest gap, then reordering what stands on top. Deterministic.
Allocation allocate(std::span<const Buffer1D> buffers, int64_t alignment_bytes);

// The most bytes that live at any one time: no allocation can be smaller.
int64_t peak_live_bytes(std::span<const Buffer1D> buffers, int64_t alignment_bytes);

}  // namespace carina::plan
