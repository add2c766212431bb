#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "facts/npu_targets.h"
#include "npu/value_counts.h"
#include "simulate/report.h"

namespace carina::simulate {

// Bytes [offset, offset + bytes) of a region.
struct MemoryRange {
  int region = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// What the base pointers BASEP0..7 point to. Regions may overlap (TFLite files give region 1 and 2 the same memory).
struct Memory {
  std::array<std::span<std::byte>, 8> regions{};
  std::array<bool, 8> read_only{};  // regions whose bytes stay as they are; writing there is an error
  // The ranges that hold data before the run (network inputs). A region that none of them names counts as wholly
  // defined. Used by checking and by poison; no influence on results otherwise.
  std::vector<MemoryRange> defined = {};
};

// A stream of encoded weights, which must outlive the simulator, and what it holds.
struct KnownStream {
  std::span<const std::byte> bytes = {};
  npu::ValueCounts values = {};
};

enum class Timing : uint8_t { kOff, kOn };
// kTimeOnly: kernels are decoded, held against memory and timed, but compute nothing; transfers are carried out, since
// weights and tables come that way. Cycles are those of a full run, unless data decide: weights that the NPU itself
// writes are damaged streams then, and conditional branches are not taken. No limit of work.
enum class Execution : uint8_t { kFull, kTimeOnly };
enum class Checking : uint8_t { kOff, kOn };
// kOn: LUT and shared memory start as garbage, and so do the undefined ranges of regions that `Memory::defined` names.
enum class Poison : uint8_t { kOff, kOn };
// Which kernels execute: the SIMD ones of the best target of this machine, or the scalar ones, which are the reference.
enum class Kernels : uint8_t { kFast, kScalar };

// Whether a timed run also finds out how much memory each operation holds.
enum class Occupied : uint8_t { kOff, kOn };

struct Options {
  Timing timing = Timing::kOff;
  Execution execution = Execution::kFull;
  Occupied occupied = Occupied::kOff;
  Checking checking = Checking::kOff;
  Poison poison = Poison::kOff;
  Kernels kernels = Kernels::kFast;
  int threads = 1;
  uint64_t max_commands = uint64_t{1} << 26;  // a run-away stream (branch loop) ends here
  uint64_t max_work = uint64_t{1} << 40;      // multiply-accumulates and elements moved, in total
  std::optional<uint32_t> config_word = {};   // the NPU to be; otherwise the payload's own CONFIG word
  std::string system_config = {};             // of vela.ini; empty: the product's default
  std::string memory_mode = {};               // of vela.ini; empty: the product's default
  // Those of another vela.ini than the one built in; they come before the names.
  std::optional<npu::SystemConfig> own_system_config = {};
  std::optional<npu::MemoryMode> own_memory_mode = {};
  // What is known of streams of weights, so that runs that only take time need not decode them.
  std::vector<KnownStream> known_streams = {};
  // Called, where it is set, with bytes of the regions that weights have been decoded from or a transfer has copied: who
  // has mapped a file there may let its pages go. They may be read again.
  std::function<void(std::span<const std::byte>)> has_read = {};
  // Called before each operation, where it is set. What it throws ends the run.
  std::function<void()> between_operations = {};
};

// An Ethos-U NPU. It keeps what it learned (decoded weights, by content) from one run to the next, so the second
// inference of a network is the fast one. Not safe for concurrent calls of run().
class Simulator {
 public:
  explicit Simulator(Options options);
  ~Simulator();
  Simulator(Simulator&&) noexcept;
  Simulator& operator=(Simulator&&) noexcept;

  // Executes a driver payload ("COP1"): reads and writes `memory`. Errors: a malformed payload or stream, an NPU that
  // does not match, an access outside its region, a forbidden register state, a limit reached; each with the command's
  // index, and with the address where there is one. On an error the memory holds what was written until then.
  Result<Report> run(std::span<const std::byte> payload, const Memory& memory);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One run with a fresh Simulator.
Result<Report> run(std::span<const std::byte> payload, const Memory& memory, const Options& options);

}  // namespace carina::simulate
