#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "carina/result.h"
#include "facts/npu_targets.h"

// Target: the NPU and the memories that a network is compiled for.
namespace carina::plan {

// An NPU, the memories behind its ports, and the port of each kind of data.
struct Target {
  npu::AcceleratorConfig accelerator;
  npu::SystemConfig system;
  npu::MemoryMode memory;

  // The ports to the arena and to the constants.
  [[nodiscard]] const npu::MemoryPort& arena_port() const {
    return system.ports[static_cast<size_t>(memory.arena_port)];
  }
  [[nodiscard]] const npu::MemoryPort& constants_port() const {
    return system.ports[static_cast<size_t>(memory.constants_port)];
  }
  [[nodiscard]] const npu::ProductLimits& limits() const { return npu::limits_of(accelerator.product); }
  // Returns whether weights lie in slower memory than activations. Only then can a copy of the weights in SRAM be
  // faster.
  [[nodiscard]] bool constants_are_slow() const { return memory.constants_port != memory.cache_port; }
};

// Finds the target with these names. An empty system configuration or memory mode selects the family's default. Errors
// (usage): an unknown name (the message lists the known ones); a system configuration of another family.
Result<Target> find_target(std::string_view accelerator, std::string_view system_config, std::string_view memory_mode);

}  // namespace carina::plan
