#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace carina {

// Bytes that are needed from time `first` to time `last`, both included.
struct Interval {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
};

struct Placement {
  std::vector<int64_t> offsets = {};  // per interval, multiples of the alignment
  int64_t total_bytes = 0;            // a multiple of the alignment
};

// How hard to look: kFirstFit takes the largest first (as given, where equal), each into the lowest gap; kSearch takes
// the longest-lived first where equal, then reorders what stands on top, as long as a bounded search finds less.
enum class Placing : uint8_t { kFirstFit, kSearch };

// Places intervals so that no two that live at the same time overlap. Deterministic. The sum of all bytes, each rounded
// up to the alignment, must fit int64_t.
Placement place(std::span<const Interval> intervals, int64_t alignment_bytes, Placing how);

// The most bytes that live at any one time: no placement can be smaller.
int64_t peak_live_bytes(std::span<const Interval> intervals, int64_t alignment_bytes);

}  // namespace carina
