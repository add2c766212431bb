// Declares `carina accuracy`: the accuracy of a program compared with the float model.
#pragma once

#include <cstdint>
#include <string>

#include "carina/log.h"
#include "carina/result.h"
#include "results/accuracy_report.h"

namespace carina::explore {

struct AccuracyRequest {
  std::string model;        // the float .pt2
  std::string program;      // the .pte
  std::string data;         // .npz with inputs, and labels y or none
  std::string dump_folder;  // dump of compile; empty: the integer graph is not evaluated
  int64_t loop_rounds = 0;  // pt2::ReadOptions::loop_rounds, as compile's
  int threads = 1;
};

// Runs the samples through three implementations: the float model (TOSA FP in the interpreter), the program with its
// delegates' integer graphs in the interpreter, and the program on the simulated NPU. The predicted class is the
// largest element of the first output. Without labels only the distances between the outputs are reported. Errors:
// those of compile and run; labels that are not classes; inputs that are not finite; a dump of another program.
Result<results::AccuracyReport> accuracy(const AccuracyRequest& request, const Log& log);

}  // namespace carina::explore
