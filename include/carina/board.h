// Declares a board of one's own as a struct. carina/target.h takes a board as a vela.ini.
#pragma once

#include <cstdint>
#include <string>

#include "carina/target.h"

namespace carina::targets {

// A memory behind one of the NPU's two ports. Latencies are in cycles of the NPU's clock.
struct BoardMemory {
  double clock_scale = 1.0;  // its bandwidth as a part of the port's, which moves a word in each cycle
  int burst_bytes = 32;
  int read_latency_cycles = 32;
  int write_latency_cycles = 32;
  int max_reads = 0;  // transfers under way at a time; 0: what is usual for the NPU
  int max_writes = 0;
};

enum class SecondMemory : uint8_t { kDram, kOnChipFlash, kOffChipFlash };
enum class BoardPort : uint8_t { kSram, kSecond };

// The memories of a board, and what each of them holds.
struct Board {
  std::string name = "Board";  // letters, digits and underscores, at most 30; in messages and in programs
  double core_clock_hz = 500e6;
  BoardMemory sram = {};
  SecondMemory second_kind = SecondMemory::kOffChipFlash;
  BoardMemory second = {
      .clock_scale = 0.125, .burst_bytes = 128, .read_latency_cycles = 64, .write_latency_cycles = 64};
  BoardPort constants = BoardPort::kSecond;  // weights and commands
  BoardPort arena = BoardPort::kSram;        // tensors; in the second memory, SRAM is fast memory for a part of them
  int64_t fast_memory_bytes = 0;             // how much SRAM the network may use; 0: no limit
};

// The target of an NPU on a board, for every function that takes TargetNames. Values that are out of range are errors
// of the function that gets the target; its diagnostics name the keys of a vela.ini. A timed run of the program needs
// the target again, as RunOptions::memories.
TargetNames target_on(const Board& board, std::string accelerator);

}  // namespace carina::targets
