#pragma once

#include <array>
#include <cstdint>
#include <string_view>

// The uncertainty of estimated cycles: the ratio of published cycles to estimated cycles. docs/cycle-model.md, "How far
// to trust a figure", lists the runs for each row.
namespace carina::npu {

struct CycleAccuracy {
  std::string_view line;  // the start of the accelerator's name
  bool waits_for_memory;  // at least a quarter of the cycles wait for memories of the second port
  double lowest;          // published cycles / estimated cycles
  double highest;
  std::string_view basis;  // shown to users
};
inline constexpr auto kCycleAccuracy = std::to_array<CycleAccuracy>({
    {.line = "ethos-u55",
     .waits_for_memory = false,
     .lowest = 0.91,
     .highest = 1.10,
     .basis = "11 published FVP runs and 3 boards of ethos-u55"},
    {.line = "ethos-u55",
     .waits_for_memory = true,
     .lowest = 0.90,
     .highest = 1.45,
     .basis = "FVP runs and boards of ethos-u55 that wait for flash"},
    {.line = "ethos-u65",
     .waits_for_memory = false,
     .lowest = 0.80,
     .highest = 1.30,
     .basis = "assumed: there is no published run of ethos-u65"},
    {.line = "ethos-u65",
     .waits_for_memory = true,
     .lowest = 0.60,
     .highest = 1.60,
     .basis = "assumed: there is no published run of ethos-u65, and it waits for memory"},
    {.line = "ethos-u85",
     .waits_for_memory = false,
     .lowest = 0.85,
     .highest = 1.18,
     .basis = "3 published FVP runs of ethos-u85-128"},
    {.line = "ethos-u85",
     .waits_for_memory = true,
     .lowest = 0.55,
     .highest = 1.30,
     .basis = "a published FVP run of ethos-u85-128 without memory latencies, and it waits for memory"},
});

// The interval in which the cycles of hardware or of an FVP are expected.
struct CycleInterval {
  int64_t lowest = 0;
  int64_t highest = 0;
  bool waits_for_memory = false;
  std::string_view basis = {};  // empty if the target has no row
};

// `memory_cycles` is the part of `cycles` that waits for memories of the second port.
constexpr CycleInterval cycle_interval(std::string_view target, int64_t cycles, int64_t memory_cycles) {
  const bool waits = cycles > 0 && memory_cycles >= cycles / 4;
  for (const CycleAccuracy& row : kCycleAccuracy) {
    if (!target.starts_with(row.line) || row.waits_for_memory != waits) continue;
    return {.lowest = static_cast<int64_t>(row.lowest * static_cast<double>(cycles)),
            .highest = static_cast<int64_t>(row.highest * static_cast<double>(cycles)),
            .waits_for_memory = waits,
            .basis = row.basis};
  }
  return {.lowest = cycles, .highest = cycles};
}

}  // namespace carina::npu
