#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "datasets/run_inputs.h"
#include "execute/bundle.h"
#include "execute/run_program.h"
#include "results/run_report.h"

namespace carina::execute {

struct RunRequest {
  std::string program;              // .pte or .bpte
  std::vector<std::string> inputs;  // as load_batch() takes them; none: ones, or the test cases of a .bpte
  std::vector<std::string> data;    // .ptd files with the tensors that stand outside of the program
  std::string output_folder;        // output_<n>.npy go there; empty: none are written
  bool timed = false;
  std::string system_config;  // for timed runs; empty: what the program was compiled for
  std::string memory_mode;
  std::vector<std::string> config_files;  // vela.ini files; none: what is built in
  int threads = 1;
  VgfDevice vgf = VgfDevice::kInterpreter;
  bool portable_kernels = false;     // those of firmware, instead of the host's faster ones
  std::string method = {};           // by its name; empty: "forward", else the first
  evaluate::MemoryPools pools = {};  // that the runtime runs in
  datasets::ImageOptions images = {};
  Tolerance tolerance = {};       // of the test cases of a .bpte
  std::string etdump = {};        // the record of the runs goes to this file; empty: to none
  std::string debug_buffer = {};  // what each instruction wrote goes there, for the record; empty: nowhere
  std::string bundle = {};        // a .bpte with what went in and came out is written there; empty: none
};

// What `carina run` says of an outcome, its tensors in no file.
Result<results::RunReport> run_report(const RunOutcome& outcome, const std::string& program, const RunOptions& options);

// Runs a program on each sample, or a bundled program's test cases: CPU kernels in Carina's runtime, Ethos-U delegates on
// the simulator. Errors: a damaged program, an unknown method, backend or kernel, inputs that do not fit, faults that the
// simulator finds. Test cases that fail are no error: the report says it.
Result<results::RunReport> run(const RunRequest& request, const Log& log);

}  // namespace carina::execute
