#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/run_report.h"

namespace carina::results {
// The result of `carina firmware`.
struct FirmwareReport {
  std::string program;
  std::string image;   // the image without the model
  std::string output;  // the image with the model
  int64_t program_bytes = 0;
  int64_t image_bytes = 0;
  int64_t kernels = 0;  // kernels that were linked into the image for this program; 0: the image is as it was built
};

// The result of `carina qemu`. The console lines have already been shown when they arrived.
struct QemuReport {
  std::string image;
  std::vector<std::string> console;
  std::vector<TensorReport> outputs;
  int64_t samples = 1;                    // one boot per sample
  std::optional<TestsReport> tests = {};  // of a bundled program
  NpuReport npu = {};                     // of the first inference; layers and cycles only if they are estimated
};

}  // namespace carina::results
