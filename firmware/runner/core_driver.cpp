#include "firmware/runner/core_driver.h"

#include <algorithm>

#include "facts/firmware.h"
#include "firmware/board/console.h"

namespace carina::firmware {

runtime::Error CoreDriver::invoke(std::span<const std::byte> payload, std::span<const std::span<std::byte>> bases) {
  std::array<uint64_t, kNpuRegions> addresses{};
  std::array<size_t, kNpuRegions> bytes{};
  const size_t count = std::min(bases.size(), addresses.size());
  for (size_t i = 0; i < count; ++i) {
    addresses[i] = reinterpret_cast<uintptr_t>(bases[i].data());
    bytes[i] = bases[i].size();
  }
  ethosu_driver* driver = ethosu_reserve_driver();
  if (driver == nullptr) {
    error().text("no NPU for the delegate");
    return runtime::Error::kDelegateFailed;
  }
  const int result = ethosu_invoke_v3(driver, payload.data(), static_cast<int>(payload.size()), addresses.data(),
                                      bytes.data(), static_cast<int>(count), nullptr);
  ethosu_release_driver(driver);
  return result == 0 ? runtime::Error::kOk : runtime::Error::kDelegateFailed;
}

}  // namespace carina::firmware
