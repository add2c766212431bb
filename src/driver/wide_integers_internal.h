#pragma once

#include "carina/log.h"
#include "driver/split.h"
#include "models/import.h"

namespace carina::driver {

// Warns about delegated nodes that read or produce int64 values outside the range of int32. Constants and the
// calibration samples show such values. An NPU computes with int32, so they wrap.
void warn_of_wide_integers(const models::Model& model, const Split& split, const Log& log);

}  // namespace carina::driver
