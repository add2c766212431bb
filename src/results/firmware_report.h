#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/run_report.h"

namespace carina::results {
// What `carina firmware` says.
struct FirmwareReport {
  std::string program;
  std::string image;   // what the model was put into
  std::string output;  // the image with it
  int64_t program_bytes = 0;
  int64_t image_bytes = 0;
  int64_t kernels = 0;  // that the image was linked with for this program; 0: it is as it was built
};

// What `carina qemu` says, beside the console's lines, which it shows as they come.
struct QemuReport {
  std::string image;
  std::vector<std::string> console;
  std::vector<TensorReport> outputs;
  int64_t samples = 1;                    // of each a boot
  std::optional<TestsReport> tests = {};  // of a bundled program
};

}  // namespace carina::results
