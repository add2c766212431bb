#pragma once

#include <cstdint>
#include <string_view>

#include "base/diagnostic.h"
#include "facts/npu_targets.h"

namespace carina::plan {

// What a network is compiled for: an NPU, the memories behind its ports, and what lives in which of them.
struct Target {
  npu::AcceleratorConfig accelerator;
  npu::SystemConfig system;
  npu::MemoryMode memory;

  [[nodiscard]] const npu::ProductLimits& limits() const { return npu::limits_of(accelerator.product); }
  // Whether weights live in a slower memory than what is worked on, so that staging them in SRAM can pay.
  [[nodiscard]] bool constants_are_slow() const { return memory.constants_port != memory.cache_port; }
};

// The target of these names; an empty system configuration or memory mode means the family's default. Errors (usage):
// an unknown name, each with the list of those there are; a system configuration of another family.
Result<Target> find_target(std::string_view accelerator, std::string_view system_config, std::string_view memory_mode);

}  // namespace carina::plan
