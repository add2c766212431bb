#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace carina::simulate {

// The memories that an NPU's ports lead to, as vela.ini names them. kInternal is SHRAM or LUT RAM.
enum class MemoryKind : uint8_t { kSram, kDram, kOnChipFlash, kOffChipFlash, kInternal };
inline constexpr int kMemoryKinds = 5;
std::string_view name_of(MemoryKind memory);

// Bytes that cross the boundary to one memory.
struct Traffic {
  uint64_t feature_map_read_bytes = 0;
  uint64_t feature_map_write_bytes = 0;
  uint64_t weight_read_bytes = 0;   // weights, scales, LUT sources; DMA reads of them included
  uint64_t weight_write_bytes = 0;  // staging of weights by DMA
  [[nodiscard]] uint64_t read_bytes() const { return feature_map_read_bytes + weight_read_bytes; }
  [[nodiscard]] uint64_t write_bytes() const { return feature_map_write_bytes + weight_write_bytes; }
  [[nodiscard]] uint64_t bytes() const { return read_bytes() + write_bytes(); }
  Traffic& operator+=(const Traffic& other);
};
using TrafficByMemory = std::array<Traffic, kMemoryKinds>;

// Where the cycles of one operation go. The parts overlap: `total` is not their sum. Estimates after Vela's model
// (docs/cycle-model.md), not measured on hardware. Zero in functional runs.
struct Cycles {
  uint64_t mac = 0;            // the MAC array busy, weight starvation within a block included
  uint64_t weight_decode = 0;  // decoding (and fetching) the weight stream
  uint64_t output = 0;         // the output unit busy
  uint64_t npu = 0;            // MAC and output pipelined over the blocks, with issue cost, first read and last write
  uint64_t issue = 0;          // the part of `npu` that is waiting: pipeline fill, first read, last write
  uint64_t dma = 0;            // the transfer itself, for DMA operations
  uint64_t exposed_dma = 0;    // the part of it that nothing hides
  std::array<uint64_t, kMemoryKinds> access{};  // moving all bytes of the operation over that memory's port
  uint64_t total = 0;
  Cycles& operator+=(const Cycles& other);
};

enum class OperationKind : uint8_t { kConvolution, kDepthwise, kPool, kElementwise, kResize, kDma };

struct Extent {
  int32_t height = 0;
  int32_t width = 0;
  int32_t depth = 0;
  bool operator==(const Extent&) const = default;
};

// One NPU operation as it was executed (an operation inside a branch loop appears once per execution).
struct OperationReport {
  uint32_t command_index = 0;  // ordinal of the command in the stream, operations and register writes counted alike
  uint32_t word_offset = 0;    // of its first word in the command stream
  OperationKind kind = OperationKind::kDma;
  std::string name;  // "CONV", "POOL MAX", "ELEMENTWISE ADD", "DMA"
  Extent ifm;
  Extent ofm;
  Extent kernel;  // depth 0; taps before dilation
  Extent block;   // OFM block
  uint8_t ifm_bits = 0;
  uint8_t ofm_bits = 0;
  uint64_t macs = 0;
  uint64_t dma_bytes = 0;
  uint64_t start_cycle = 0;  // timed runs: when it starts on the estimated time line
  Cycles cycles;
  TrafficByMemory traffic;
  // Where occupancy was asked for in a timed run: bytes of each memory that hold something still to be read, constants
  // not counted (simulate/occupancy_internal.h).
  std::array<uint64_t, kMemoryKinds> held_bytes{};
};

// A PMU event as the driver numbers it (facts/npu_pmu.def), with the count over the run.
struct PmuCounter {
  uint16_t event = 0;
  std::string_view name;
  uint64_t count = 0;
};

struct Report {
  uint32_t config_word = 0;
  std::string npu;  // "ethos-u55-128"
  std::vector<OperationReport> operations;
  uint64_t commands = 0;     // commands executed
  uint16_t irq_history = 0;  // masks of STOP and IRQ commands, as STATUS[31:16] shows them
  Cycles cycles;             // sums over the operations
  TrafficByMemory traffic;
  uint64_t macs = 0;
  std::vector<PmuCounter> pmu;  // timed runs: all events that the product counts
  Diagnostics findings;         // what --check found; the run went on
};

// The report's operations as a trace that Perfetto and chrome://tracing load: one track per unit (MAC, output, DMA),
// microseconds of the NPU's clock. `clock_hz` > 0.
std::string perfetto_trace(const Report& report, double clock_hz);

// The report as JSON text.
std::string to_json(const Report& report);

}  // namespace carina::simulate
