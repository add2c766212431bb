#pragma once

#include <deque>
#include <string>
#include <vector>

#include "facts/npu_targets.h"
#include "simulate/machine_internal.h"
#include "simulate/shadow_memory_internal.h"

namespace carina::simulate {

// Finds mistakes that the hardware does not detect. Each finding names the command, the register state and the address.
// The simulator executes commands in order, which hides these mistakes; on the NPU they cause wrong results
// occasionally.
class Checker {
 public:
  Checker(const npu::AcceleratorConfig& accelerator, const Memory& memory, std::span<const std::byte> internal);

  // Checks an operation before it executes. Its operands have been checked.
  void kernel(const Prepared& prepared, const MemoryMap& memory);
  void dma(const Operation& op, const DmaEffect& effect, const MemoryMap& memory);
  void wait_kernels(int outstanding);
  void wait_dmas(int outstanding);
  // Reports an accumulator that overflowed its format.
  void overflow(const Operation& op);
  [[nodiscard]] Diagnostics take() { return std::move(findings_); }

 private:
  struct Access {
    HostRange range;
    bool writes = false;
    const char* role = "";
  };
  struct Outstanding {
    std::string name;
    std::vector<Access> accesses;
  };
  struct Job {  // a block of work: the bytes that it accesses
    std::vector<HostRange> bytes;
  };

  void find(const Operation& op, std::string what, std::string got);
  [[nodiscard]] std::string address_text(const std::byte* address, const MemoryMap& memory) const;
  // Hazards (check_hazards.cpp)
  void check_waits(const Operation& op, const std::vector<Access>& accesses, const std::deque<Outstanding>& outstanding,
                   const char* missing, const MemoryMap& memory);
  void check_block_dependency(const Prepared& prepared, const MemoryMap& memory);
  [[nodiscard]] std::vector<Job> first_reads(const Prepared& prepared, int count) const;
  [[nodiscard]] std::vector<Job> last_writes(const Prepared& prepared, int count) const;
  static std::vector<Access> accesses_of(const Prepared& prepared);
  // Definedness (check_reads.cpp)
  void check_reads(const Prepared& prepared, const MemoryMap& memory);
  void check_map(const Operation& op, const CheckedMap& map, const std::vector<bool>& rows,
                 const std::vector<bool>& columns, const char* role, const MemoryMap& memory);
  void note_writes(const Prepared& prepared);
  // Layout (check_layout.cpp)
  void check_block(const Operation& op);
  void check_shram(const Operation& op);
  void check_alignment(const Operation& op);

  const npu::AcceleratorConfig& accelerator_;
  std::span<const std::byte> internal_;
  ShadowMemory shadow_;
  std::deque<Outstanding> kernels_;
  std::deque<Outstanding> dmas_;
  std::vector<Job> last_jobs_;  // the previous kernel's writes, the last one first
  bool last_moved_ = false;     // it was transposed or reversed, which scatters its blocks
  bool first_ = true;
  Diagnostics findings_;
};

}  // namespace carina::simulate
