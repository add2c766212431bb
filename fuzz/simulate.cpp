// Runs any bytes as a driver payload on the simulator with little memory. Every run must end without a crash, and the
// fast kernels must write the same bytes as the scalar ones.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "simulate/simulator.h"

namespace {

using namespace carina;

using Regions = std::array<std::vector<std::byte>, 3>;

bool run(std::span<const std::byte> payload, Regions& regions, const simulate::Options& options) {
  simulate::Memory memory;
  for (size_t i = 0; i < regions.size(); ++i) {
    regions[i].assign(1 << 14, std::byte{static_cast<unsigned char>(i)});
    memory.regions[i] = regions[i];
  }
  return simulate::run(payload, memory, options).has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Regions fast;
  static Regions scalar;
  const auto payload = std::as_bytes(std::span(data, size));
  const simulate::Options options{.timing = simulate::Timing::kOn, .max_commands = 1 << 12, .max_work = 1 << 22};
  simulate::Options reference = options;
  reference.kernels = simulate::Kernels::kScalar;
  reference.timing = simulate::Timing::kOff;
  reference.checking = simulate::Checking::kOn;
  const bool done = run(payload, fast, options);
  if (run(payload, scalar, reference) != done || fast != scalar) std::abort();
  return 0;
}
