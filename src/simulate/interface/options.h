#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "facts/npu_targets.h"
#include "npu/cost/cost.h"
#include "npu/weights/value_counts.h"

// What a simulated run takes: the memory and the options.
namespace carina::simulate {

// Bytes [offset, offset + bytes) of a region.
struct MemoryRange {
  int region = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// The memory of the base pointers BASEP0..7. Regions may overlap (TFLite files give regions 1 and 2 the same memory).
struct Memory {
  std::array<std::span<std::byte>, 8> regions{};
  std::array<bool, 8> read_only{};  // regions that must not change; a write is an error
  // The ranges that hold data before the run (network inputs). A region without a range here counts as wholly defined.
  // Checks and poison use them; they do not affect results otherwise.
  std::vector<MemoryRange> defined = {};
};

// A stream of encoded weights and the distribution of its values. The stream must outlive the simulator.
struct KnownStream {
  std::span<const std::byte> bytes = {};
  npu::ValueCounts values = {};
};

enum class Timing : uint8_t { kOff, kOn };
// kTimeOnly decodes kernels, checks their addresses and times them, but computes nothing. Transfers are executed,
// because they carry weights and tables. The cycles are those of a full run unless they depend on data: weights that
// the NPU itself writes are then damaged streams, and conditional branches are not taken. There is no limit of work.
enum class Execution : uint8_t { kFull, kTimeOnly };
enum class Checking : uint8_t { kOff, kOn };
// kOn fills LUT, shared memory and the undefined ranges of `Memory::defined` regions with garbage at the start.
enum class Poison : uint8_t { kOff, kOn };
// A register that an operation uses and that the stream has not set since its start. kDefault: it reads as 0, and a
// scale as 1. kFault: an error, because on an NPU it holds a value of the stream before.
enum class UnsetRegister : uint8_t { kDefault, kFault };
// The kernels that execute operations: the SIMD kernels of this machine's best target, or the scalar reference kernels.
enum class Kernels : uint8_t { kFast, kScalar };

// Whether a timed run also computes how much memory is live at each operation.
enum class Occupied : uint8_t { kOff, kOn };

struct Options {
  Timing timing = Timing::kOff;
  Execution execution = Execution::kFull;
  Occupied occupied = Occupied::kOff;
  Checking checking = Checking::kOff;
  Poison poison = Poison::kOff;
  UnsetRegister unset_register = UnsetRegister::kDefault;
  Kernels kernels = Kernels::kFast;
  int threads = 1;
  uint64_t max_commands = uint64_t{1} << 26;  // ends a run-away stream (branch loop)
  uint64_t max_work = uint64_t{1} << 40;      // multiply-accumulates and elements moved, in total
  std::optional<uint32_t> config_word = {};   // the simulated NPU; otherwise the payload's own CONFIG word
  std::string system_config = {};             // of vela.ini; empty: the product's default
  std::string memory_mode = {};               // of vela.ini; empty: the product's default
  // System configuration and memory mode of another vela.ini than the built-in one. They override the names.
  std::optional<npu::SystemConfig> own_system_config = {};
  std::optional<npu::MemoryMode> own_memory_mode = {};
  // Other assumptions of the cycle model than those of the baseline model. They show how far a comparison of streams
  // depends on them.
  npu::CostDetail cost = npu::kTimeLineCost;
  // The share of a kernel's start and end that runs while the kernel before it still works, if BLOCKDEP permits it.
  double kernel_overlap = 0;
  // Known weight streams, which timed runs need not decode.
  std::vector<KnownStream> known_streams = {};
  // Called, if set, with bytes of a region that weights have been decoded from or that a transfer has read. A caller
  // with a mapped file there may release its pages. The bytes may be read again.
  std::function<void(std::span<const std::byte>)> has_read = {};
  // Called before each operation, if set. An exception ends the run.
  std::function<void()> between_operations = {};
  // Called after each operation, if set, with the index of its command's first word.
  std::function<void(uint32_t word)> after_operation = {};
  // The run ends before the command at this word.
  uint32_t end_word = ~uint32_t{0};
};

}  // namespace carina::simulate
