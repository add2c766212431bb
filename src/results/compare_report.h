#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/run_report.h"

namespace carina::results {
// One of two programs: what one inference takes of the NPU and its memories.
struct ComparedSide {
  std::string label;  // the file, or "vela"
  std::string target;
  std::string system_config;
  std::string memory_mode;
  int64_t clock_hz = 0;
  int64_t cycles = 0;
  int64_t macs = 0;
  int64_t operations = 0;
  int64_t sram_bytes = 0;  // the most that is held at a time, constants not counted
  int64_t arena_bytes = 0;
  int64_t fast_scratch_bytes = 0;
  int64_t constants_bytes = 0;
  int64_t commands_bytes = 0;
  std::vector<std::pair<std::string, int64_t>> traffic_bytes = {};
};

// A layer of both, or of one.
struct ComparedLayer {
  std::string name;
  std::optional<LayerReport> a = {};
  std::optional<LayerReport> b = {};
};

// What `carina compare` says.
struct CompareReport {
  ComparedSide a;
  ComparedSide b;
  bool by_name = false;  // else layers stand beside each other by kind, MACs and order
  std::vector<ComparedLayer> layers;
};

}  // namespace carina::results
