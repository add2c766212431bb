#pragma once

#include <array>

#include "npu/cost/cost.h"

// Other values that the cycle model could assume. No published run separates them from the baseline
// (docs/cycle-model.md, "Evidence"). -O3 prefers schedules that are good under all of them, and
// docs/against-vela-models.md compares streams under each.
namespace carina::npu {

struct Assumption {
  const char* name;
  double latency_factor = 1;        // of the latencies of all memories
  double second_memory_factor = 1;  // of the bandwidth of the second memory (flash or DRAM)
  double kernel_overlap = 0;        // share of a kernel's start and end that the kernel before it hides
  int elementwise_channels = kElementwiseChannels;
  double ends_factor = 1;  // of the first read and the last write
};

inline constexpr Assumption kLatenciesDoubled{.name = "latencies doubled", .latency_factor = 2};

// The first row is the baseline model.
inline constexpr auto kAssumptions = std::to_array<Assumption>({
    {.name = "nominal"},
    {.name = "latencies halved", .latency_factor = 0.5},
    kLatenciesDoubled,
    {.name = "second memory at half speed", .second_memory_factor = 0.5},
    {.name = "second memory at twice the speed", .second_memory_factor = 2},
    {.name = "kernels overlap", .kernel_overlap = 1},
    {.name = "elementwise by 16 channels", .elementwise_channels = 16},
    {.name = "no block start", .ends_factor = 0},
    {.name = "block start doubled", .ends_factor = 2},
});

constexpr SystemConfig assumed(SystemConfig system, const Assumption& assumption) {
  for (MemoryPort& port : system.ports) {
    port.read_latency_cycles = static_cast<int>(port.read_latency_cycles * assumption.latency_factor);
    port.write_latency_cycles = static_cast<int>(port.write_latency_cycles * assumption.latency_factor);
  }
  system.ports[1].clock_scale *= assumption.second_memory_factor;
  return system;
}

constexpr CostDetail assumed(CostDetail detail, const Assumption& assumption) {
  detail.elementwise_channels = assumption.elementwise_channels;
  detail.ends_factor = assumption.ends_factor;
  return detail;
}

}  // namespace carina::npu
