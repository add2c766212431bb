// Declares `carina npu`: the run of one command stream on the simulator.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "carina/tensor.h"
#include "datasets/outputs.h"
#include "results/run_report.h"

namespace carina::execute {

struct NpuRunRequest {
  std::string stream;  // Vela's raw .npz
  // the file's bytes, if they are in memory; `stream` is then only the name in messages
  Buffer file = {};
  std::vector<std::string> inputs;  // one .npy per network input; none: zeros
  std::vector<Tensor> arrays = {};  // used instead of `inputs`
  std::string output_folder;        // the folder of output_<n>.npy; empty: none are written
  bool timed = false;
  bool check = false;   // check for hazards, undefined reads and layout conflicts; the report has the findings
  bool poison = false;  // fill undefined memory with garbage at the start
  std::string system_config;
  std::string memory_mode;
  std::vector<std::string> config_files;         // vela.ini files; empty: the built-in configurations
  std::string trace_file;                        // Perfetto trace; empty: none; implies timed
  size_t memory_budget_bytes = size_t{4} << 30;  // for the regions and the unpacked arrays of the file
  int threads = 1;
};

struct StreamOutcome {
  std::vector<datasets::NamedTensor> outputs;
  results::RunReport report;
};

// Runs one command stream on the simulator. An input may have any shape, but the number and the size of its elements
// must match. Outputs are int8, int16, int32 or int64 by their element size; their shape is the file's without leading
// ones. Errors: those of the reader and the simulator; inputs that do not match; a file that needs more memory than the
// budget, which is rejected before any is allocated.
Result<StreamOutcome> run_stream(const NpuRunRequest& request, const Log& log);

}  // namespace carina::execute
