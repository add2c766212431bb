#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/buffer.h"
#include "datasets/outputs.h"
#include "datasets/samples.h"
#include "evaluate/program_runner.h"
#include "pte/etdump.h"
#include "results/run_report.h"
#include "targets/target.h"

namespace carina::execute {

// What runs VGF delegates.
enum class VgfDevice { kInterpreter, kVulkan };

struct RunOptions {
  bool timed = false;  // whether `npu` of the outcome has figures
  // The memories that a timed run assumes; empty: those that the program was compiled for. The accelerator is the
  // program's.
  targets::TargetNames memories;
  std::vector<Buffer> data = {};  // .ptd files, for tensors that stand outside of the program
  int threads = 1;
  VgfDevice vgf = VgfDevice::kInterpreter;
  bool portable_kernels = false;     // those of firmware, instead of the host's faster ones
  std::string method = {};           // by its name; empty: "forward", else the first
  evaluate::MemoryPools pools = {};  // that the runtime runs in
  bool record = false;               // whether `records` of the outcome has the events of each run
  bool record_values = false;        // and what each instruction wrote, on the runtime's own kernels
};

// What one inference gave and took.
struct RunOutcome {
  std::vector<datasets::NamedTensor> outputs;
  // The allocator figures under the names that ExecuTorch's executor runner prints, in bytes.
  std::vector<std::pair<std::string, int64_t>> memory;
  std::vector<std::string> cpu_kernels;  // kernel calls of the program, in order
  int64_t delegate_calls = 0;
  results::NpuReport npu;                // of Ethos-U delegates
  std::vector<int64_t> vgf_times = {};   // of VGF delegates, per call, in nanoseconds
  std::vector<int64_t> tosa_times = {};  // of TOSA delegates, in the interpreter, likewise
  std::vector<pte::RunRecord> records = {};
  std::string method = {};                // that ran
  std::vector<std::string> methods = {};  // of the program
};

// What several inferences gave, one after another on one loaded program: state that the program keeps goes from each to
// the next.
struct BatchOutcome {
  std::vector<std::vector<datasets::NamedTensor>> outputs;  // of each sample
  std::vector<datasets::InputType> inputs;
  std::string method;  // that ran
  // Figures: those of the first inference, memory those of the last; `outputs` of it is empty. Records: of all.
  RunOutcome run;
};

// Gives the samples to run when it is told what the program's inputs are.
using BatchSource = std::function<Result<std::vector<datasets::Sample>>(std::span<const datasets::InputType> inputs)>;

// What ExecuTorch's runner feeds when it is given nothing: ones; a number is what the program was exported for.
datasets::Sample ones(std::span<const datasets::InputType> inputs);

// Runs a .pte once: CPU kernels in Carina's runtime, Ethos-U delegates on the simulator, VGF delegates in the interpreter
// or on a Vulkan device. `where` names the program in messages. Errors: a damaged program, an unknown method, backend or
// kernel, inputs that do not fit, faults that the simulator finds.
Result<RunOutcome> run_program(const Buffer& program, const std::string& where, const datasets::InputSource& inputs,
                               const RunOptions& options, const Log& log);

// The same for any number of samples. Errors: as above; no sample.
Result<BatchOutcome> run_batch(const Buffer& program, const std::string& where, const BatchSource& inputs,
                               const RunOptions& options, const Log& log);

}  // namespace carina::execute
