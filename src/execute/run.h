// Declares `carina run`: the run of a program on samples or on its test cases.
#pragma once

#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "datasets/run_inputs.h"
#include "execute/bundle.h"
#include "execute/generate.h"
#include "execute/run_program.h"
#include "results/run_report.h"

namespace carina::execute {

struct RunRequest {
  std::string program;                     // .pte or .bpte
  std::vector<std::string> inputs;         // as load_batch() takes them; none: ones, or the test cases of a .bpte
  datasets::SoundOptions sound = {};       // of a .wav in `sequence`
  std::vector<std::string> sequence = {};  // instead of `inputs`, as load_sequence() takes them
  int64_t reset_every = 0;                 // samples after which the state is reset; 0: never
  std::string schedule = {};               // instead of `inputs`, as run_schedule() takes it
  GenerateOptions generate = {};           // instead of `inputs`: tokens of a language model
  std::string state_in = {};               // folder of NAME.npy with the state to begin with; empty: initial values
  std::string state_out = {};              // folder of NAME.npy for the state after the run; empty: not written
  std::vector<std::string> data;           // .ptd files with the tensors stored outside of the program
  std::string output_folder;               // the folder of output_<n>.npy; empty: none are written
  bool timed = false;
  std::string system_config;  // for timed runs; empty: the one for which the program was compiled
  std::string memory_mode;
  std::vector<std::string> config_files;  // vela.ini files; empty: the built-in configurations
  int threads = 1;
  VgfDevice vgf = VgfDevice::kInterpreter;
  bool portable_kernels = false;     // use the kernels of the firmware instead of the host's faster ones
  std::string method = {};           // a method's name; empty: "forward", else the first
  evaluate::MemoryPools pools = {};  // memory pools of the runtime
  datasets::ImageOptions images = {};
  Tolerance tolerance = {};       // for the test cases of a .bpte
  std::string etdump = {};        // file for the record of the runs; empty: none is written
  std::string debug_buffer = {};  // file for the outputs of each instruction, for the record; empty: none is written
  std::string bundle = {};        // file for a .bpte with the inputs and outputs of the run; empty: none is written
};

// Returns the report of an outcome that `carina run` prints. Its tensors are not written to files.
Result<results::RunReport> run_report(const RunOutcome& outcome, const std::string& program, const RunOptions& options);

// Runs a program on each sample, or runs a bundled program's test cases. CPU kernels run in Carina's runtime, Ethos-U
// delegates on the simulator. Errors: a damaged program; an unknown method, backend or kernel; inputs that do not
// match; faults that the simulator detects. A failed test case is not an error; the report lists it.
Result<results::RunReport> run(const RunRequest& request, const Log& log);

}  // namespace carina::execute
