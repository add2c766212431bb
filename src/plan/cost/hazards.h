#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/family/emitter.h"
#include "plan/family/family.h"

namespace carina::plan {

// Bytes that a command reads or writes.
struct Access {
  Space space = Space::kArena;
  int64_t begin = 0;
  int64_t end = 0;
  bool writes = false;
};
std::vector<Access> accesses_of(const Schedule& schedule, const Command& command, const TableMemory& tables);

// Which waits the parser must make before a command, since transfers and kernels run beside each other.
class HazardTracker {
 public:
  explicit HazardTracker(const npu::ProductLimits& limits) : limits_(limits) {}

  // What must be waited for; records the command as outstanding.
  Waits before_kernel(const std::vector<Access>& accesses);
  Waits before_dma(const std::vector<Access>& accesses);

 private:
  using Outstanding = std::vector<std::vector<Access>>;  // oldest first
  static std::optional<int> wait_for(Outstanding& others, const std::vector<Access>& accesses);
  static void start(Outstanding& own, const std::vector<Access>& accesses, int limit);

  const npu::ProductLimits& limits_;
  Outstanding kernels_;
  Outstanding dmas_;
};

// How many blocks of stripe `current` may start before `previous` has finished: BLOCKDEP. Exact for stripes that read
// the previous result as it was written, 0 for other overlaps.
int block_dependency(const Schedule& schedule, std::optional<StripeId> previous, StripeId current,
                     const TableMemory& tables, const npu::ProductLimits& limits);

// Where a lookup table slot lies in the NPU's internal memory.
int64_t slot_address(const TableMemory& tables, int slot);

}  // namespace carina::plan
