// Any bytes as a driver payload on the simulator, with little memory: never harmful, always ends.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulate/simulator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carina;
  static std::array<std::vector<std::byte>, 3> regions;
  simulate::Memory memory;
  for (size_t i = 0; i < regions.size(); ++i) {
    regions[i].assign(1 << 14, std::byte{static_cast<unsigned char>(i)});
    memory.regions[i] = regions[i];
  }
  const simulate::Options options{.timing = simulate::Timing::kOn,
                                  .checking = simulate::Checking::kOn,
                                  .max_commands = 1 << 12,
                                  .max_work = 1 << 22};
  (void)simulate::run(std::as_bytes(std::span(data, size)), memory, options);
  return 0;
}
