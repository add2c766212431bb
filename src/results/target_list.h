#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace carina::results {
// An NPU configuration.
struct TargetRow {
  std::string name;
  int64_t macs_per_cycle = 0;
  std::string system_config;  // the default
  std::string memory_mode;
};

// A clock, and the memories at the two ports.
struct SystemRow {
  std::string name;
  std::string from;                  // the file, or "built in"
  std::vector<std::string> targets;  // targets that support it
  int64_t clock_hz = 0;
  std::vector<std::string> memories;      // memories at port 0 and 1: "Sram"
  std::vector<std::string> memory_modes;  // modes that fit it on one of its targets
};

// The port of each kind of data.
struct ModeRow {
  std::string name;
  std::string from;
  int64_t constants_port = 0;
  int64_t arena_port = 0;
  int64_t cache_port = 0;
  int64_t cache_bytes = 0;  // 0: no limit
};

// The result of `carina targets`.
struct TargetList {
  std::vector<TargetRow> targets;
  std::vector<SystemRow> systems;
  std::vector<ModeRow> modes;
};

// A board, as `--board` takes it.
struct BoardRow {
  std::string name;
  std::string board;  // what it is, in one sentence
  std::string chip;
  std::string target;  // its NPU
  std::string system_config;
  std::string memory_mode;
  int64_t clock_hz = 0;
  int64_t sram_bytes = 0;
  int64_t flash_bytes = 0;  // 0: not known
  std::string sizes;        // the sources of the sizes and of the memory timing, and what supports the row
  std::string memories;
  std::string evidence;
};

// The result of `carina targets --boards`.
struct BoardList {
  std::vector<BoardRow> boards;
};

}  // namespace carina::results
