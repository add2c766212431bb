#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "facts/firmware.h"
#include "firmware/driver/ethosu_driver.h"

// What a driver remembers.
struct ethosu_driver {
  void* fast_memory = nullptr;
  size_t fast_memory_bytes = 0;
  uint32_t config_word = 0;
  uint32_t id_word = 0;
  ethosu_driver* next = nullptr;  // in the list of all that were made
  bool reserved = false;
  bool started = false;
  int result = 0;
  bool pmu_enabled = false;
  uint64_t cycles = 0;
  std::array<uint16_t, carina::firmware::kNpuCounters> events{};
  std::array<uint64_t, carina::firmware::kNpuCounters> counts{};
};

namespace carina::firmware {

// The last driver that ethosu_init() made; nullptr: none.
const ethosu_driver* any_driver();

}  // namespace carina::firmware
