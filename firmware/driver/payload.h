#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware/driver/npu.h"

namespace carina::firmware {

// A parsed driver payload ("COP1"). Source: driver_actions.py of ethos-u-vela; src/npu/payload.h has the same format.
struct DriverPayload {
  NpuWords words;
  std::span<const uint32_t> stream;
};

// Parses `bytes`, which are aligned to 16 bytes. Returns false for a malformed payload, and prints the reason on the
// console.
bool read_payload(std::span<const std::byte> bytes, DriverPayload& payload);

// Whether the NPU can run a stream compiled for `compiled`. If not, prints the reason on the console. Source: the core
// driver (ethosu_driver.c).
bool check_compatible(const NpuWords& compiled, const NpuWords& npu);

}  // namespace carina::firmware
