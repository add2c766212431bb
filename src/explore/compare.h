// Declares `carina compare`: two compiled programs side by side.
#pragma once

#include <cstdint>
#include <string>

#include "carina/log.h"
#include "carina/result.h"
#include "driver/compile.h"
#include "results/compare_report.h"

namespace carina::explore {

struct CompareRequest {
  std::string a;  // a .pte, Vela's raw .npz, or a model to compile: .tosa, .vgf, .pt2
  std::string b;  // the same kinds, or empty: the output of Vela for `a`, a .tosa
  // Options to compile models, also for Vela. For programs only the memories apply, if they are given.
  driver::CompileRequest compile;
  std::string vela = "vela";                       // Vela's executable
  int64_t memory_budget_bytes = int64_t{4} << 30;  // limit of the memory that a program declares to need
};

// Times both programs on the simulator and matches their layers. Errors: files of another kind, without a command
// stream, or damaged; those of compile(); Vela is missing or rejects the model.
Result<results::CompareReport> compare(const CompareRequest& request, const Log& log);

}  // namespace carina::explore
