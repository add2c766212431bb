// Declares the profile of a run on an emulated board.
#pragma once

#include <span>
#include <string>

#include "evaluate/program_runner.h"
#include "execute/npu_calls.h"
#include "pte/etdump.h"
#include "results/float_conversion.h"
#include "results/run_report.h"
#include "simulate/simulator.h"

namespace carina::boards {

// What a run on a board measured: the lines of its console, and the simulator's reports of the first inference.
struct DeviceRun {
  std::span<const std::string> console;
  std::span<const simulate::Report> npu;
  int64_t inferences = 1;  // of all samples
  double clock_hz = 0;     // of the CPU and the NPU, as in the ratios on the console
};

// Returns the record of one inference. A kernel takes the average of its CPU cycles over all inferences.
pte::RunRecord record_of(const DeviceRun& run, const runtime::Method& method, const execute::NpuCalls& calls);

// Returns the cycles of one inference in which kernels quantize and dequantize floats, and in which the CPU waits for
// the NPU.
results::ConversionCycles conversion_cycles_of(const DeviceRun& run);

// Returns the NPU's figures of the first inference.
results::NpuReport npu_report_of(const DeviceRun& run, const execute::NpuCalls& calls);

}  // namespace carina::boards
