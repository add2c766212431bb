#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carina/result.h"

namespace carina::results {
// The outcome of one combination.
enum class SweepStatus : uint8_t {
  kCompiled,
  kRejected,  // the target does not support it, for example because a memory mode does not fit
  kFailed,    // the model cannot be compiled for it
};

// The operations of one layer together.
struct SweepLayer {
  std::string name;
  int64_t macs = 0;
  int64_t cycles = 0;
  int64_t traffic_bytes = 0;  // bytes read and written, of all memories
  std::string bottleneck;
};

// The interval in which the cycles of hardware are expected.
struct ExpectedCycles {
  int64_t lowest = 0;
  int64_t highest = 0;
  bool waits_for_memory = false;
  std::string basis = {};  // which runs the interval comes from; empty: not known
};

// What a program computes from data, compared with the float model (carina accuracy).
struct SweepAccuracy {
  double sqnr_db = 0;  // of the worst output
  std::string metric;  // of the first output: "top1"; empty: there are no labels
  std::string unit;    // of the metric: "%"
  double of_float = 0;
  double of_npu = 0;
};

// Whether a program keeps to the budgets of SRAM and flash.
enum class Fits : uint8_t { kNotAsked, kYes, kNo };

// One combination of target, memories and quantization. Figures are per inference; cycles are estimates.
struct SweepRow {
  std::string quantization;  // as requested: "int8", or "as is"
  std::string target;
  std::string system_config;
  std::string memory_mode;
  SweepStatus status = SweepStatus::kCompiled;
  std::string reason = {};  // why it was rejected or failed; if set, the figures below have no meaning
  std::vector<std::string> notes = {};
  int64_t macs_per_cycle = 0;
  int64_t clock_hz = 0;
  int64_t cycles = 0;
  ExpectedCycles expected = {};
  int64_t macs = 0;
  int64_t npu_nodes = 0;
  int64_t cpu_nodes = 0;
  int64_t cpu_cycles = 0;
  int64_t sram_bytes = 0;
  int64_t program_bytes = 0;
  Fits fits = Fits::kNotAsked;
  std::optional<SweepAccuracy> accuracy = {};  // if data are given
  std::string program_sha256 = {};
  std::vector<std::pair<std::string, int64_t>> traffic_bytes = {};
  std::vector<std::pair<std::string, double>> bytes_per_cycle = {};  // the most that each memory's port moves
  std::vector<SweepLayer> layers = {};
  std::string model = {};  // only in the report of several models
};

// The result of `carina sweep`.
struct SweepReport {
  std::string model;  // empty: several models, each row has its own
  std::vector<SweepRow> rows;
};

// A finished combination. A worker of a cluster prints it as one line of JSON, and --state keeps that line.
struct SweepLine {
  // The names as the user wrote them; empty: the default. Together they identify a combination of a sweep.
  std::string scheme;
  std::string target;
  std::string memory_mode;
  std::string program = {};  // file name of the program; empty: not written
  bool machine = false;      // failed because of the machine (memory, disk), so another try may succeed
  bool unprepared = false;   // the model cannot be prepared with this scheme for any target
  SweepRow row = {};
};

}  // namespace carina::results
