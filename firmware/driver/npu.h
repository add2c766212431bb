#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "facts/firmware.h"

// The NPU behind the driver: each image links one of host_npu.cpp and image_npu.cpp.
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

// False, with the reason on the console: no NPU.
bool identify_npu(NpuWords& words);
// Runs a payload whose words fit the NPU. False, with the reason on the console: a fault.
bool run_npu(const NpuJob& job, NpuFigures& figures);

}  // namespace carina::firmware
