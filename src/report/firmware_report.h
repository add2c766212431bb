#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/run_report.h"

namespace carina::report {

// What `carina firmware` says.
struct FirmwareReport {
  std::string program;
  std::string image;   // what the model was put into
  std::string output;  // the image with it
  int64_t program_bytes = 0;
  int64_t image_bytes = 0;
  int64_t kernels = 0;  // that the image was linked with for this program; 0: it is as it was built
};
std::string to_text(const FirmwareReport& report);
std::string to_json(const FirmwareReport& report);

// What `carina qemu` says, beside the console's lines, which it shows as they come.
struct QemuReport {
  std::string image;
  std::vector<std::string> console;
  std::vector<TensorReport> outputs;
  int64_t samples = 1;                    // of each a boot
  std::optional<TestsReport> tests = {};  // of a bundled program
};
std::string to_text(const QemuReport& report);
std::string to_json(const QemuReport& report);

}  // namespace carina::report
