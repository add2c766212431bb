#pragma once

#include <ethosu_driver.h>  // Carina's or a vendor's (docs/porting.md)

#include "runtime/backends/ethos_u.h"

namespace carina::firmware {

// Calls the core driver for the delegate.
class CoreDriver final : public runtime::NpuDriver {
 public:
  runtime::Error invoke(std::span<const std::byte> payload, std::span<const std::span<std::byte>> bases) override;
};

}  // namespace carina::firmware
