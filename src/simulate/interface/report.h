#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"

// The report of a simulated run: operations, cycles, traffic and findings.
namespace carina::simulate {

// The memories at an NPU's ports, with their names in vela.ini. kInternal is SHRAM or LUT RAM.
enum class MemoryKind : uint8_t { kSram, kDram, kOnChipFlash, kOffChipFlash, kInternal };
inline constexpr int kMemoryKinds = 5;
std::string_view name_of(MemoryKind memory);

// Bytes that are read from and written to one memory, in whole bricks and beats (npu/cost/traffic.h).
struct Traffic {
  uint64_t feature_map_read_bytes = 0;
  uint64_t feature_map_write_bytes = 0;
  uint64_t weight_read_bytes = 0;   // weights, scales, LUT sources; also read by DMA
  uint64_t weight_write_bytes = 0;  // staging of weights by DMA
  uint64_t command_read_bytes = 0;  // the command stream itself; only in the report of a whole run
  [[nodiscard]] uint64_t read_bytes() const { return feature_map_read_bytes + weight_read_bytes + command_read_bytes; }
  [[nodiscard]] uint64_t write_bytes() const { return feature_map_write_bytes + weight_write_bytes; }
  [[nodiscard]] uint64_t bytes() const { return read_bytes() + write_bytes(); }
  Traffic& operator+=(const Traffic& other);
};
using TrafficByMemory = std::array<Traffic, kMemoryKinds>;

// The cycles of one operation by component. The components overlap, so `total` is not their sum. They are estimates
// after Vela's model (docs/cycle-model.md), not measured on hardware. Zero in functional runs.
struct Cycles {
  uint64_t mac = 0;            // the MAC array is busy or starved of weights within a block
  uint64_t weight_decode = 0;  // decoding (and fetching) the weight stream
  uint64_t output = 0;         // the output unit is busy
  uint64_t npu = 0;            // MAC and output pipelined over the blocks, with issue cost, first read and last write
  uint64_t issue = 0;          // the part of `npu` spent waiting: pipeline fill, first read, last write
  uint64_t dma = 0;            // for DMA operations: the transfer
  uint64_t exposed_dma = 0;    // the part of the transfer that does not overlap kernels
  std::array<uint64_t, kMemoryKinds> access{};  // by memory: moving all bytes of the operation over its port
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

// One executed NPU operation. An operation inside a branch loop appears once per execution.
struct OperationReport {
  uint32_t command_index = 0;  // index of the command in the stream; operations and register writes both count
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
  uint64_t start_cycle = 0;  // timed runs: start on the estimated time line
  Cycles cycles;
  TrafficByMemory traffic;
  // Timed runs with Occupied::kOn: bytes of each memory with data that is still to be read, without constants
  // (simulate/occupancy_internal.h).
  std::array<uint64_t, kMemoryKinds> held_bytes{};
};

// A PMU event with the driver's number (facts/npu_pmu.def), and its count over the run.
struct PmuCounter {
  uint16_t event = 0;
  std::string_view name;
  uint64_t count = 0;
};

// The share of each memory's port that an operation uses while it runs at its full speed; 0 to 1.
using PortShares = std::array<double, kMemoryKinds>;

// A step of the time line: an operation is issued, or the stream waits until at most `outstanding` are left.
struct TimelineStep {
  enum class Kind : uint8_t { kKernel, kDma, kWaitKernels, kWaitDmas };
  Kind kind = Kind::kKernel;
  int outstanding = 0;   // of a wait
  size_t operation = 0;  // its index in Report::operations
  uint64_t cycles = 0;   // at full speed
  PortShares shares{};
};

struct Report {
  uint32_t config_word = 0;
  std::string npu;  // "ethos-u55-128"
  std::vector<OperationReport> operations;
  uint64_t commands = 0;     // commands executed
  uint16_t irq_history = 0;  // masks of STOP and IRQ commands, as in STATUS[31:16]
  Cycles cycles;             // sums over the operations
  TrafficByMemory traffic;
  uint64_t macs = 0;
  std::vector<PmuCounter> pmu;              // timed runs: all events that the product counts
  Diagnostics findings;                     // findings of --check, which do not end the run
  std::vector<TimelineStep> timeline = {};  // timed runs: what the time line was made of
};

// The cycles that a timed run would take if the operations with `left_out[index]` took no time and used no port. What
// waited for them, or shared a port with them, is then faster.
uint64_t cycles_without(const Report& report, const std::vector<bool>& left_out);

// The report's operations as a trace for Perfetto and chrome://tracing. It has one track per unit (MAC, output, DMA).
// Times are microseconds of the NPU's clock. `clock_hz` > 0.
std::string perfetto_trace(const Report& report, double clock_hz);

// The report as JSON text.
std::string to_json(const Report& report);

}  // namespace carina::simulate
