#pragma once

#include <cstdint>
#include <string>

namespace carina::results {
// What `carina tosa -o` says.
struct TosaReport {
  std::string model;
  std::string version;  // of the file: "1.0", or "vgf"
  std::string output;
  int64_t bytes = 0;
};

}  // namespace carina::results
