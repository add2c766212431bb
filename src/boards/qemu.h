// Declares the function that runs a firmware image on QEMU.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "datasets/run_inputs.h"
#include "execute/bundle.h"
#include "pte/bundled.h"
#include "results/firmware_report.h"
#include "simulate/simulator.h"
#include "targets/target.h"

namespace carina::boards {

struct QemuRequest {
  // Input files as `carina run` takes them, or raw bytes (.bin) for each input; empty: all ones. The device boots once
  // and runs all samples, and passes the program's state from each to the next.
  std::vector<std::string> inputs;
  datasets::ImageOptions images = {};
  std::vector<std::string> sequence = {};  // instead of `inputs`, as load_sequence() takes them
  datasets::SoundOptions sound = {};       // of a .wav in `sequence`
  int64_t reset_every = 0;                 // samples after which the state is reset; 0: never
  std::string state_in = {};               // folder of NAME.npy with the state to begin with; empty: initial values
  std::string state_out = {};              // folder of NAME.npy for the state after the run; empty: not written
  // Test cases of a bundled program, used if there are no inputs. The device boots once for each case of the method
  // that it runs.
  std::vector<pte::TestSuite> tests = {};
  execute::Tolerance tolerance = {};
  std::string output_folder;  // the folder of output_<n>.npy; empty: no files
  int inferences = 1;         // with each sample
  // The NPU and its memories; empty: those for which the program was compiled.
  targets::TargetRequest target;
  // Whether the NPU estimates its cycles. Otherwise its counters stay 0.
  simulate::Timing timing = simulate::Timing::kOn;
  std::string etdump;         // the record of each boot for ExecuTorch's Inspector; empty: no file
  int timeout_seconds = 600;  // for each sample
  int threads = 1;
  std::function<void(std::string_view)> on_line = [](std::string_view) {};  // called for each line of the console
};

// Runs an image that contains a model on QEMU's mps3-an547; the simulator is its NPU. `where` names the image. Errors:
// an image without a model, inputs of the wrong type or size, QEMU is missing or times out, an error that the device
// prints on its console.
Result<results::QemuReport> run_on_qemu(const Buffer& image, const std::string& where, const QemuRequest& request,
                                        const Log& log);
Result<results::QemuReport> run_on_qemu(const std::string& image, const QemuRequest& request, const Log& log);

}  // namespace carina::boards
