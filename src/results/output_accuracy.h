#pragma once

#include <string>

namespace carina::results {
// How near one output is to the float model's, over all samples.
struct OutputAccuracy {
  std::string name;    // of the model's graph
  double sqnr_db = 0;  // 300: no difference
  double mean_absolute_error = 0;
};

}  // namespace carina::results
