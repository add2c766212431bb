#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/buffer.h"
#include "datasets/outputs.h"
#include "results/run_report.h"
#include "tensor/tensor.h"

namespace carina::execute {

struct NpuRunRequest {
  std::string stream;               // Vela's raw .npz
  Buffer file = {};                 // its bytes, where it is in memory; then `stream` is what messages call it
  std::vector<std::string> inputs;  // one .npy per network input; none: zeros
  std::vector<Tensor> arrays = {};  // instead of `inputs`
  std::string output_folder;        // output_<n>.npy go there; empty: none are written
  bool timed = false;
  bool check = false;   // hazards, undefined reads, layout conflicts: the report's findings
  bool poison = false;  // memory that nothing has defined starts as garbage
  std::string system_config;
  std::string memory_mode;
  std::vector<std::string> config_files;         // vela.ini files; none: what is built in
  std::string trace_file;                        // Perfetto trace; empty: none; implies timed
  size_t memory_budget_bytes = size_t{4} << 30;  // of the regions, and of the arrays that the file unpacks to
  int threads = 1;
};

struct StreamOutcome {
  std::vector<datasets::NamedTensor> outputs;
  results::RunReport report;
};

// Runs one command stream on the simulator. Inputs may have any shape of the right number of elements of the right
// size; outputs are int8, int16, int32 or int64 by their element size, in the shape that the file gives without leading
// ones. Errors: of the reader and the simulator; inputs that do not fit; a file that
// needs more memory than the budget, before any is taken.
Result<StreamOutcome> run_stream(const NpuRunRequest& request, const Log& log);

}  // namespace carina::execute
