#pragma once

#include "firmware/driver/ethosu_driver.h"

namespace carina::firmware {

// The driver that ethosu_init() initialized last, or nullptr.
const ethosu_driver* any_driver();

}  // namespace carina::firmware
