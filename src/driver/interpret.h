#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "report/run_report.h"

namespace carina::driver {

struct InterpretRequest {
  std::string model;                // .tosa
  std::vector<std::string> inputs;  // one .npy per graph input; none: zeros
  std::string output_folder;        // output_<n>.npy go there; empty: none are written
  std::string dump_folder;          // every intermediate value as .npy; empty: none are written
  bool profile = false;
  int threads = 1;
};

// Evaluates a TOSA file in the interpreter. Errors: of the reader and of the interpreter, inputs that do not fit,
// folders that cannot be written.
Result<report::InterpretReport> interpret(const InterpretRequest& request, const Log& log);

}  // namespace carina::driver
