#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "driver/outputs.h"
#include "driver/program_runner.h"
#include "driver/samples.h"
#include "driver/target.h"
#include "report/run_report.h"

namespace carina::driver {

// What runs VGF delegates.
enum class VgfPlace { kInterpreter, kVulkan };

struct RunOptions {
  bool timed = false;  // whether `npu` of the outcome has figures
  // The memories that a timed run assumes; empty: those that the program was compiled for. The accelerator is the
  // program's.
  TargetNames memories;
  std::vector<Buffer> data = {};  // .ptd files, for tensors that stand outside of the program
  int threads = 1;
  VgfPlace vgf = VgfPlace::kInterpreter;
  bool portable_kernels = false;  // those of firmware, instead of the host's faster ones
};

// What one inference gave and took.
struct RunOutcome {
  std::vector<NamedTensor> outputs;
  // The allocator figures under the names that ExecuTorch's executor runner prints, in bytes.
  std::vector<std::pair<std::string, int64_t>> memory;
  std::vector<std::string> cpu_kernels;  // kernel calls of the program, in order
  int64_t delegate_calls = 0;
  report::NpuReport npu;                // of Ethos-U delegates
  std::vector<int64_t> vgf_times = {};  // of VGF delegates, per call, in nanoseconds
};

// What ExecuTorch's runner feeds when it is given nothing: ones; a number is what the program was exported for.
Sample ones(std::span<const InputType> inputs);

// Runs a .pte once: CPU kernels in Carina's runtime, Ethos-U delegates on the simulator, VGF delegates in the interpreter or on a Vulkan device. `where` names the program in
// messages. Errors: a damaged program, an unknown backend or kernel, inputs that do not fit, faults that the simulator
// finds.
Result<RunOutcome> run_program(const Buffer& program, const std::string& where, const InputSource& inputs,
                               const RunOptions& options, const Log& log);

}  // namespace carina::driver
