#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/run_report.h"

namespace carina::results {
// One of two programs, with the NPU and memory figures of one inference.
struct ComparedSide {
  std::string label;  // the file, or "vela"
  std::string target;
  std::string system_config;
  std::string memory_mode;
  int64_t clock_hz = 0;
  int64_t cycles = 0;
  int64_t memory_cycles = 0;  // the part of `cycles` that waits for memories behind the second port
  int64_t macs = 0;
  int64_t operations = 0;
  int64_t sram_bytes = 0;  // the maximum held at a time, without constants
  int64_t arena_bytes = 0;
  int64_t fast_scratch_bytes = 0;
  int64_t constants_bytes = 0;
  int64_t commands_bytes = 0;
  std::vector<std::pair<std::string, int64_t>> traffic_bytes = {};
};

// A layer of both networks, or of only one.
struct ComparedLayer {
  std::string name;
  std::optional<LayerReport> a = {};
  std::optional<LayerReport> b = {};
};

// The result of `carina compare`.
struct CompareReport {
  ComparedSide a;
  ComparedSide b;
  bool by_name = false;  // whether layers are matched by name; otherwise by kind, MACs and order
  std::vector<ComparedLayer> layers;
};

}  // namespace carina::results
