#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace carina {

// Bytes from `from_byte` on are needed no earlier than from time `first`.
struct Rise {
  int64_t from_byte = 0;
  int64_t first = 0;
  bool operator==(const Rise&) const = default;
};

// Bytes that are needed from time `first` to time `last`, both included; what is filled bit by bit says when (`rises`,
// ascending in both).
struct Interval {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
  std::vector<Rise> rises = {};
};

// How many of its bytes an interval needs at or before `time`: they are its first ones.
int64_t bytes_until(const Interval& interval, int64_t time);

struct Placement {
  std::vector<int64_t> offsets = {};  // per interval, multiples of the alignment
  int64_t total_bytes = 0;            // a multiple of the alignment
};

// How hard to look: kFirstFit takes the largest first (as given, where equal), each into the lowest gap; kSearch takes
// the longest-lived first where equal, then reorders what stands on top, as long as a bounded search finds less.
enum class Placing : uint8_t { kFirstFit, kSearch };

// When a search ends.
struct Effort {
  int64_t enough_bytes = 0;      // takes no more
  size_t max_work = 4'000'000;   // so many intervals have been compared
};

// Places intervals so that no two that live at the same time overlap. Deterministic. The sum of all bytes, each rounded
// up to the alignment, must fit int64_t.
Placement place(std::span<const Interval> intervals, int64_t alignment_bytes, Placing how, const Effort& effort = {});

// The most bytes that live at any one time: no placement can be smaller.
int64_t peak_live_bytes(std::span<const Interval> intervals, int64_t alignment_bytes);

}  // namespace carina
