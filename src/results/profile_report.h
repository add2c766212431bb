#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace carina::results {
// What a stage of a command cost.
struct StageCost {
  std::string stage;
  double seconds = 0;      // on the clock
  double cpu_seconds = 0;  // of all threads, user and system
  int64_t peak_bytes = 0;  // of the process's memory, mapped files included
};
using Profile = std::vector<StageCost>;

}  // namespace carina::results
