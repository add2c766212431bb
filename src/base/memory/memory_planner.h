#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace carina {

// Bytes from `from_byte` on are needed no earlier than from time `first`.
struct FillStep {
  int64_t from_byte = 0;
  int64_t first = 0;
  bool operator==(const FillStep&) const = default;
};

// A buffer to allocate: bytes that are needed from time `first` to time `last`, both included; what is filled bit by bit says when (`fill_steps`,
// ascending in both).
struct MemoryRequest {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
  std::vector<FillStep> fill_steps = {};
};

// How many of its bytes a request needs at or before `time`: they are its first ones.
int64_t bytes_until(const MemoryRequest& request, int64_t time);

struct MemoryPlan {
  std::vector<int64_t> offsets = {};  // per request, multiples of the alignment
  int64_t total_bytes = 0;            // a multiple of the alignment
};

// How hard to look: kFirstFit takes the largest first (as given, where equal), each into the lowest gap; kSearch takes
// the longest-lived first where equal, then reorders what stands on top, as long as a bounded search finds less.
enum class PlanStrategy : uint8_t { kFirstFit, kSearch };

// When a search ends.
struct SearchBudget {
  int64_t enough_bytes = 0;     // takes no more
  size_t max_work = 4'000'000;  // so many requests have been compared
};

// Assigns offsets so that no two requests that live at the same time overlap. Deterministic. The sum of all bytes, each rounded
// up to the alignment, must fit int64_t.
MemoryPlan plan_memory(std::span<const MemoryRequest> requests, int64_t alignment_bytes, PlanStrategy how,
                       const SearchBudget& budget = {});

// The most bytes that live at any one time: no plan can be smaller.
int64_t peak_live_bytes(std::span<const MemoryRequest> requests, int64_t alignment_bytes);

}  // namespace carina
