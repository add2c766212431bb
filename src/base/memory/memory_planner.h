// Declares the memory planner: it assigns offsets to buffers whose live ranges are known. The NPU's arena, the memory
// plan of programs and the interpreter use it, with different alignments and efforts. It knows only numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace carina {

// The bytes of a buffer from `from_byte` on are needed only from time `first` on.
struct FillStep {
  int64_t from_byte = 0;
  int64_t first = 0;
  bool operator==(const FillStep&) const = default;
};

// A buffer to allocate. Its bytes are live from time `first` to time `last`, both included. For a buffer that is filled
// gradually, `fill_steps` (ascending in both fields) gives the times.
//
// Example: 100 bytes, times 3 to 9, fill_steps {{.from_byte = 40, .first = 5}}:
// bytes 0 to 39 are live from time 3 to 9, bytes 40 to 99 from time 5 to 9.
struct MemoryRequest {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
  std::vector<FillStep> fill_steps = {};
};

// Returns how many bytes of a request are live at or before `time`. They are the first bytes of the buffer.
int64_t bytes_until(const MemoryRequest& request, int64_t time);

struct MemoryPlan {
  std::vector<int64_t> offsets = {};  // per request, multiples of the alignment
  int64_t total_bytes = 0;            // a multiple of the alignment
};

// The algorithm. kFirstFit places the largest request first, each at the lowest free offset; equal sizes keep their
// order. kSearch places the longest-lived of equal sizes first. It then reorders the requests at the peak, as long as a
// bounded search finds smaller plans.
enum class PlanStrategy : uint8_t { kFirstFit, kSearch };

// The conditions that end a search.
struct SearchBudget {
  int64_t enough_bytes = 0;     // stop if the plan takes no more than this
  size_t max_work = 4'000'000;  // stop after this many comparisons of requests
};

// Assigns offsets so that no two requests with overlapping live ranges overlap in memory. Deterministic. The sum of all
// sizes, each rounded up to the alignment, must fit int64_t.
MemoryPlan plan_memory(std::span<const MemoryRequest> requests, int64_t alignment_bytes, PlanStrategy how,
                       const SearchBudget& budget = {});

// The maximum over time of the live bytes. No plan can be smaller.
int64_t peak_live_bytes(std::span<const MemoryRequest> requests, int64_t alignment_bytes);

}  // namespace carina
