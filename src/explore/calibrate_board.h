// Declares `carina calibrate-board`: memory timing that is fitted to measured cycles.
#pragma once

#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "results/board_calibration.h"

namespace carina::explore {

struct CalibrateBoardRequest {
  std::string measurements;  // a CSV with the columns "stream" and "cycles" or "milliseconds"
  std::string name = "Board";
  std::string system_config;  // the fit starts with it; empty: the family's default
  std::string memory_mode;
  std::vector<std::string> config_files;
  std::string output;  // the ini
};

// Fits the bandwidth and the read latency of the second memory, and the latency of SRAM, to measured networks. Writes a
// system configuration as in vela.ini, with the residual of each network. One network determines the bandwidth only,
// two the bandwidth and the latency, three or more all values. Errors: a CSV without these columns, without rows, or
// with a number that is not positive; a stream that cannot be read or timed; streams for different NPUs.
Result<results::BoardCalibration> calibrate_board(const CalibrateBoardRequest& request, const Log& log);

}  // namespace carina::explore
