#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/buffer.h"
#include "datasets/run_inputs.h"
#include "execute/bundle.h"
#include "pte/bundled.h"
#include "results/firmware_report.h"
#include "targets/target.h"

namespace carina::boards {

struct QemuRequest {
  // As carina run takes them, or raw bytes (.bin) for each input; none: ones. The device boots once for each sample.
  std::vector<std::string> inputs;
  datasets::ImageOptions images = {};
  // Without inputs: a bundled program's test cases, a boot for each, of the method that the device runs.
  std::vector<pte::TestSuite> tests = {};
  execute::Tolerance tolerance = {};
  std::string output_folder;  // output_<n>.npy go there; empty: none are written
  int inferences = 1;
  // The NPU and its memories; empty: those that the program was compiled for.
  targets::TargetRequest target;
  int timeout_seconds = 600;
  int threads = 1;
  std::function<void(std::string_view)> on_line = [](std::string_view) {};  // of the console
};

// Runs an image with a model in it on QEMU's mps3-an547, with the simulator as its NPU. `where` names the image. Errors:
// an image without a model, inputs that do not fit, QEMU is missing or does not end in time, what the device's console
// says went wrong.
Result<results::QemuReport> run_on_qemu(const Buffer& image, const std::string& where, const QemuRequest& request,
                                        const Log& log);
Result<results::QemuReport> run_on_qemu(const std::string& image, const QemuRequest& request, const Log& log);

}  // namespace carina::boards
