// Runs ExecuTorch programs in Carina's runtime, with simulated or interpreted delegates.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "datasets/outputs.h"
#include "datasets/samples.h"
#include "evaluate/program_runner.h"
#include "pte/etdump.h"
#include "results/run_report.h"
#include "targets/target.h"

namespace carina::execute {

// The device that runs VGF delegates.
enum class VgfDevice { kInterpreter, kVulkan };

struct RunOptions {
  bool timed = false;  // whether to estimate cycles (RunOutcome::npu)
  // The memories of a timed run; empty: those for which the program was compiled. The accelerator is always the
  // program's.
  targets::TargetNames memories;
  // Whether a timed run is an error if the program was compiled for memories of a vela.ini that is not among them. Else
  // the family's defaults are used, with a warning.
  bool exact_memories = false;
  std::vector<Buffer> data = {};  // .ptd files with the tensors stored outside of the program
  int threads = 1;
  VgfDevice vgf = VgfDevice::kInterpreter;
  bool portable_kernels = false;     // use the kernels of the firmware instead of the host's faster ones
  std::string method = {};           // a method's name; empty: "forward", else the first
  evaluate::MemoryPools pools = {};  // memory pools of the runtime
  std::shared_ptr<evaluate::SharedMemory> shared = {};  // with other methods of the program; none: its state is its own
  bool record = false;         // whether to record the events of each run (RunOutcome::records)
  bool record_values = false;  // also record what each instruction writes, with the runtime's own kernels
};

// Outputs and measurements of one inference.
struct RunOutcome {
  std::vector<datasets::NamedTensor> outputs;
  // The allocator figures under the names that ExecuTorch's executor runner prints, in bytes.
  std::vector<std::pair<std::string, int64_t>> memory;
  std::vector<std::string> cpu_kernels;  // kernel calls of the program, in order
  int64_t delegate_calls = 0;
  results::NpuReport npu;                // of Ethos-U delegates
  std::vector<int64_t> vgf_times = {};   // of VGF delegates, per call, in nanoseconds
  std::vector<int64_t> tosa_times = {};  // of TOSA delegates in the interpreter, per call, in nanoseconds
  std::vector<pte::RunRecord> records = {};
  std::string method = {};                // the method that ran
  std::vector<std::string> methods = {};  // the program's methods
};

// How a run of several samples treats the state that the program keeps.
struct StateOptions {
  int64_t reset_every = 0;  // samples after which the state is reset; 0: never
  // Returns the state to begin with, one tensor for each of these; empty: the initial values.
  std::function<Result<std::vector<Tensor>>(std::span<const datasets::InputType> states)> first = {};
};

// Outputs and measurements of several inferences of one loaded program. State that the program keeps is passed from
// each inference to the next.
struct BatchOutcome {
  std::vector<std::vector<datasets::NamedTensor>> outputs;  // per sample
  std::vector<datasets::InputType> inputs;
  std::string method;                             // the method that ran
  std::vector<datasets::NamedTensor> state = {};  // after the last sample
  // Measurements of the first inference, but memory of the last and records of all. Its `outputs` are empty.
  RunOutcome run;
};

// Returns the samples to run, given the program's inputs.
using BatchSource = std::function<Result<std::vector<datasets::Sample>>(std::span<const datasets::InputType> inputs)>;

// Returns the default inputs of ExecuTorch's runner: all ones. A number is the one with which the program was exported.
datasets::Sample ones(std::span<const datasets::InputType> inputs);

// Runs a .pte once. CPU kernels run in Carina's runtime, Ethos-U delegates on the simulator, VGF delegates in the
// interpreter or on a Vulkan device. `where` names the program in messages. Errors: a damaged program; an unknown
// method, backend or kernel; inputs that do not match; faults that the simulator detects.
Result<RunOutcome> run_program(const Buffer& program, const std::string& where, const datasets::InputSource& inputs,
                               const RunOptions& options, const Log& log);

// Runs a program on any number of samples. State that the program keeps is passed from each sample to the next. Errors:
// those of run_program(); no sample; state files that do not fit.
Result<BatchOutcome> run_batch(const Buffer& program, const std::string& where, const BatchSource& inputs,
                               const RunOptions& options, const Log& log, const StateOptions& state = {});

}  // namespace carina::execute
