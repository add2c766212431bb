#pragma once

#include <string>
#include <vector>

namespace carina::results {

// One measured network of a board.
struct BoardMeasurement {
  std::string stream;
  double measured_cycles = 0;
  double before_cycles = 0;  // with the system configuration that the fit starts with
  double fitted_cycles = 0;
};

// A system configuration that was fitted to measurements.
struct BoardCalibration {
  std::string name;
  std::string start;  // the system configuration that the fit starts with
  std::string output;
  double second_memory_clock_scale = 0;
  int second_memory_read_latency_cycles = 0;
  int sram_latency_cycles = 0;
  double worst_residual = 0;  // the largest deviation of fitted / measured - 1
  std::vector<BoardMeasurement> measurements;
};

}  // namespace carina::results
