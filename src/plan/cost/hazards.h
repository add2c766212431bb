#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/family/emitter.h"
#include "plan/family/family.h"

// Hazards between commands that run at the same time: the waits and the block dependency that a command needs.
namespace carina::plan {

// The bytes that a command reads or writes.
struct Access {
  Space space = Space::kArena;
  int64_t begin = 0;
  int64_t end = 0;
  bool writes = false;
};
std::vector<Access> accesses_of(const Schedule& schedule, const Command& command, const TableMemory& tables);

// Computes the waits that must precede a command, since transfers and kernels overlap.
class HazardTracker {
 public:
  explicit HazardTracker(const npu::ProductLimits& limits) : limits_(limits) {}

  // Returns the waits for these accesses and records the command as outstanding. The accesses must outlive this object.
  Waits before_kernel(std::span<const Access> accesses);
  Waits before_dma(std::span<const Access> accesses);

 private:
  using Outstanding = std::vector<std::span<const Access>>;  // oldest first
  static std::optional<int> wait_for(Outstanding& others, std::span<const Access> accesses);
  static void start(Outstanding& own, std::span<const Access> accesses, int limit);

  const npu::ProductLimits& limits_;
  Outstanding kernels_;
  Outstanding dmas_;
};

// The value of BLOCKDEP: how many jobs of stripe `current` may start before `previous` has finished. A job is a block,
// or a pass of a block over some input channels. The value is exact if `current` reads the result of `previous` as it
// was written. It is 0 for other overlaps.
int block_dependency(const Schedule& schedule, std::optional<StripeId> previous, StripeId current, const Family& family,
                     const Target& target);

// The address of a lookup table slot in the NPU's internal memory.
int64_t slot_address(const TableMemory& tables, int slot);

}  // namespace carina::plan
