#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "facts/firmware.h"
#include "firmware/npu/operation.h"

namespace carina::firmware::npu_core {

// The data that an operation reads in addition to its feature maps.
struct Resources {
  std::span<const int16_t> weights;
  std::span<const std::byte> scales;
  std::span<const std::byte> tables;
};

// Computes an operation. Returns false if it accesses memory outside of its regions or needs unsupported features, and
// prints the reason on the console.
bool execute(const Operation& op, const Resources& resources,
             const std::array<std::span<std::byte>, kNpuRegions>& regions);

}  // namespace carina::firmware::npu_core
