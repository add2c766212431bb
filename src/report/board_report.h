#pragma once

#include <string>

#include "results/board_calibration.h"

namespace carina::report {

std::string to_text(const results::BoardCalibration& fitted);
std::string to_json(const results::BoardCalibration& fitted);

}  // namespace carina::report
