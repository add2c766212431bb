#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/program.h"
#include "plan/target.h"

namespace carina::plan {

enum class Space : uint8_t { kConstants, kArena, kTables };

// Bytes that a command reads or writes.
struct Access {
  Space space = Space::kArena;
  int64_t begin = 0;
  int64_t end = 0;
  bool writes = false;
};
std::vector<Access> accesses_of(const Program& program, const Command& command, const Target& target);

// Which waits the parser must make before a command, since transfers and kernels run beside each other.
class HazardTracker {
 public:
  explicit HazardTracker(const npu::ProductLimits& limits) : limits_(limits) {}

  // How many of the other kind may still run (nothing: no need to wait). Records the command as outstanding.
  struct Waits {
    std::optional<int> kernels;
    std::optional<int> dmas;
  };
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

// How many blocks of `current` may start before `previous` (indices of operations) has finished: BLOCKDEP. Exact for
// operations that read the previous result as it was written, 0 for other overlaps.
int block_dependency(const Program& program, std::optional<size_t> previous, size_t current, const Target& target);

// Where a lookup table slot lies in internal memory.
int64_t table_address(const Target& target, int slot);

}  // namespace carina::plan
