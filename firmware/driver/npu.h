#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "facts/firmware.h"

// The NPU of the driver. Each image links either host_npu.cpp or image_npu.cpp.
namespace carina::firmware {

struct NpuWords {
  uint32_t config = 0;  // the CONFIG register
  uint32_t id = 0;      // the ID register
};

struct NpuJob {
  std::span<const std::byte> payload;
  std::array<std::span<std::byte>, kNpuRegions> regions;
  std::array<uint16_t, kNpuCounters> events;
};

struct NpuFigures {
  uint64_t cycles = 0;
  std::array<uint64_t, kNpuCounters> counts{};
};

// Reads the NPU's configuration. Returns false if there is no NPU, and prints the reason on the console.
bool identify_npu(NpuWords& words);
// Runs a payload whose words match the NPU. Returns false for a fault, and prints the reason on the console.
bool run_npu(const NpuJob& job, NpuFigures& figures);

}  // namespace carina::firmware
