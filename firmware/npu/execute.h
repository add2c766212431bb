#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "facts/firmware.h"
#include "firmware/npu/operation.h"

namespace carina::firmware::npu_core {

// What an operation reads beside its feature maps.
struct Resources {
  std::span<const int16_t> weights;
  std::span<const std::byte> scales;
  std::span<const std::byte> tables;
};

// Computes an operation. False, with the reason on the console: it reaches outside of its memory, or asks for what the
// NPU does not have.
bool execute(const Operation& op, const Resources& resources,
             const std::array<std::span<std::byte>, kNpuRegions>& regions);

}  // namespace carina::firmware::npu_core
