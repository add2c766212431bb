#pragma once

#include <cstdint>
#include <string>

namespace carina::results {
// The result of `carina tosa -o`.
struct TosaReport {
  std::string model;
  std::string version;  // the file's version: "1.0", "1.1-draft", "0.80", or "vgf"
  std::string output;
  int64_t bytes = 0;
};

}  // namespace carina::results
