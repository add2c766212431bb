#pragma once

#include <cstdint>
#include <string>

#include "base/diagnostic.h"
#include "base/log.h"
#include "results/accuracy_report.h"

namespace carina::explore {

struct AccuracyRequest {
  std::string model;        // the float .pt2
  std::string program;      // the .pte
  std::string data;         // .npz with inputs, and labels y or none
  std::string dump_folder;  // of compile; empty: the integer graph is left out
  int64_t loop_rounds = 0;  // pt2::ReadOptions::loop_rounds, as compile's
  int threads = 1;
};

// Runs the samples through the float model (TOSA FP in the interpreter), the program with its delegates'
// integer graphs in the interpreter, and the program on the simulated NPU. The first output's largest element is the
// answer; without labels only how near the answers are. Errors: as compile's and run's; labels that are no classes; inputs
// that are not finite; a dump of another program.
Result<results::AccuracyReport> accuracy(const AccuracyRequest& request, const Log& log);

}  // namespace carina::explore
