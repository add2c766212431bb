#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware/driver/npu.h"

namespace carina::firmware {

// A driver payload ("COP1") taken apart. Source: driver_actions.py of ethos-u-vela, as src/npu/payload.h has it.
struct DriverPayload {
  NpuWords words;
  std::span<const uint32_t> stream;
};

// `bytes` is aligned to 16 bytes. False, with the reason on the console: no payload, or a damaged one.
bool read_payload(std::span<const std::byte> bytes, DriverPayload& payload);

// Whether the NPU runs what was compiled for `compiled`; the reason stands on the console when it does not. Source: the
// core driver (ethosu_driver.c).
bool check_compatible(const NpuWords& compiled, const NpuWords& npu);

}  // namespace carina::firmware
