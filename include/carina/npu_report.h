// Defines the measurements of the NPU in one inference: counts, cycles and bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace carina::results {

// One operation of the NPU in one inference.
struct LayerReport {
  std::string name;       // name of the user's node from which it was made, or of the command if unknown
  std::string operation;  // "conv", "depthwise", "pool", "elementwise", "dma"
  int64_t macs = 0;
  int64_t cycles = 0;
  // Busy cycles of each unit. Units work concurrently, so the numbers do not add up to `cycles`.
  std::vector<std::pair<std::string, int64_t>> breakdown;
  // The cycles that each cause adds to the time; they add up to `cycles`.
  std::vector<std::pair<std::string, int64_t>> causes = {};
  std::string bottleneck;               // the unit that determines the cycles
  double utilization = 0;               // MACs done / MACs possible in `cycles`, 0 to 1
  std::vector<std::string> nodes = {};  // names of the TOSA nodes that it computes, if known
  std::string tosa_op = {};             // the TOSA operator, "tosa.CONV2D"; empty if unknown
  std::string source = {};              // the line of the user's model; may be empty
  int64_t start_cycle = 0;              // on the estimated time line
  int64_t npu_cycles = 0;  // MAC and output units over all blocks, without stalls for memories and transfers
  std::vector<std::pair<std::string, int64_t>> access_cycles = {};  // "Sram" -> cycles of its port
  std::vector<std::pair<std::string, int64_t>> traffic_bytes = {};  // "Sram read" ...
  // SRAM bytes that hold data still to be read while the operation runs, without constants. No value if not requested.
  std::optional<int64_t> held_sram_bytes = {};
};

// The use of one memory at the NPU's ports in one inference.
struct MemoryUse {
  std::string memory;  // "Sram", "OffChipFlash" ...
  double bytes_per_second = 0;
  int64_t held_bytes = 0;  // bytes stored in it: constants, arena, fast scratch
  int64_t feature_map_read_bytes = 0;
  int64_t feature_map_write_bytes = 0;
  int64_t weight_read_bytes = 0;  // also scales and tables; includes reads by transfers
  int64_t weight_write_bytes = 0;
};

// The NPU's part of a run, per inference.
struct NpuReport {
  std::string target;
  std::string system_config;
  std::string memory_mode;
  int64_t clock_hz = 0;
  int64_t cycles = 0;
  int64_t macs = 0;
  double utilization = 0;
  std::vector<LayerReport> layers;
  std::vector<std::pair<std::string, int64_t>> traffic_bytes;  // "sram read" ...
  std::vector<std::pair<std::string, int64_t>> pmu;            // event name -> count
  int64_t macs_per_cycle = 0;
  std::vector<std::pair<std::string, double>> bytes_per_cycle = {};  // the maximum that each memory's port moves
  std::vector<MemoryUse> memories = {};
  std::string constants_memory = {};  // name of one of `memories`
  std::string arena_memory = {};
  int64_t memory_cycles = 0;  // the part of `cycles` that waits for memories behind the second port
  // By the name of a layer: how many cycles fewer the NPU takes without its operations. A layer whose weights others
  // wait for saves more than its own cycles, one that runs while others wait saves less. Empty: not computed.
  std::vector<std::pair<std::string, int64_t>> saved_cycles = {};
};

}  // namespace carina::results
