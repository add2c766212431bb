#pragma once

#include "carina/log.h"
#include "driver/split.h"
#include "models/import.h"

namespace carina::driver {

// Warns of the delegated nodes that read or make int64 beyond int32, as constants and the calibration samples show it:
// an NPU computes with int32, and what does not fit wraps.
void warn_of_wide_integers(const models::Model& model, const Split& split, const Log& log);

}  // namespace carina::driver
