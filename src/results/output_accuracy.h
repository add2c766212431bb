#pragma once

#include <string>

namespace carina::results {
// The similarity of one output to the float model's output, over all samples.
struct OutputAccuracy {
  std::string name;    // the output's name in the model's graph
  double sqnr_db = 0;  // 300: no difference
  double mean_absolute_error = 0;
};

}  // namespace carina::results
