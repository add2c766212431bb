#pragma once

#include "firmware/driver/ethosu_driver.h"

namespace carina::firmware {

// The last driver that ethosu_init() made; nullptr: none.
const ethosu_driver* any_driver();

}  // namespace carina::firmware
