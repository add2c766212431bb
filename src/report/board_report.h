#pragma once

#include <string>

#include "results/board_calibration.h"

namespace carina::report {

// Renders what `carina calibrate-board` fitted: the ini section, and measured and estimated cycles per network.
std::string to_text(const results::BoardCalibration& fitted);
std::string to_json(const results::BoardCalibration& fitted);

}  // namespace carina::report
