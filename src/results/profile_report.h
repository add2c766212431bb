#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace carina::results {
// The cost of one stage of a command.
struct StageCost {
  std::string stage;
  double seconds = 0;      // wall-clock time
  double cpu_seconds = 0;  // user and system time of all threads
  int64_t peak_bytes = 0;  // peak memory of the process, mapped files included
};
using Profile = std::vector<StageCost>;

}  // namespace carina::results
