#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"

namespace carina::results {
// What became of one combination.
enum class SweepStatus : uint8_t {
  kCompiled,
  kRefused,  // the target does not have it: a memory mode that does not fit
  kFailed,   // the model cannot be compiled so
};

// The operations of one layer together.
struct SweepLayer {
  std::string name;
  int64_t macs = 0;
  int64_t cycles = 0;
  int64_t traffic_bytes = 0;  // read and written, of all memories
  std::string bottleneck;
};

// One combination of target, memories and quantization. Figures are per inference; cycles are estimates.
struct SweepRow {
  std::string quantization;  // as it was asked for: "int8"; "as is"
  std::string target;
  std::string system_config;
  std::string memory_mode;
  SweepStatus status = SweepStatus::kCompiled;
  std::string reason = {};  // why it is refused or failed; then the figures below mean nothing
  std::vector<std::string> notes = {};
  int64_t macs_per_cycle = 0;
  int64_t clock_hz = 0;
  int64_t cycles = 0;
  int64_t macs = 0;
  int64_t npu_nodes = 0;
  int64_t cpu_nodes = 0;
  int64_t cpu_cycles = 0;
  int64_t sram_bytes = 0;
  int64_t program_bytes = 0;
  std::string program_sha256 = {};
  std::vector<std::pair<std::string, int64_t>> traffic_bytes = {};
  std::vector<std::pair<std::string, double>> bytes_per_cycle = {};  // that each memory's port moves at most
  std::vector<SweepLayer> layers = {};
  std::string model = {};  // in the report of several models; else empty
};

// What `carina sweep` says.
struct SweepReport {
  std::string model;  // empty: several, each row names its own
  std::vector<SweepRow> rows;
};

// A finished combination as one line of JSON: what a part of a shared sweep prints, and what --state keeps.
struct SweepLine {
  // As they were asked for; empty: the default. Together they are one combination of a sweep.
  std::string scheme;
  std::string target;
  std::string memory_mode;
  std::string program = {};  // name of the file with the program; empty: not written
  bool machine = false;      // the machine is at fault (memory, disk), not the model: another try may succeed
  bool unprepared = false;   // the model cannot be prepared with this scheme, for any target
  SweepRow row = {};
};

}  // namespace carina::results
