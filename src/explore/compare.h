#pragma once

#include <cstdint>
#include <string>

#include "base/diagnostic.h"
#include "base/log.h"
#include "driver/compile.h"
#include "results/compare_report.h"

namespace carina::explore {

struct CompareRequest {
  std::string a;  // a .pte, Vela's raw .npz, or a model to compile: .tosa, .vgf, .pt2
  std::string b;  // the same, or empty: what Vela makes of `a`, a .tosa
  // How models are compiled, Vela's side included; of programs only the memories count, where they are given.
  driver::CompileRequest compile;
  std::string vela = "vela";                       // Vela's program
  int64_t memory_budget_bytes = int64_t{4} << 30;  // of what a program says that it needs
};

// Both timed on the simulator, side by side per layer. Errors: files of other kinds, without a stream for the NPU, or
// damaged; as compile()'s; Vela is missing or refuses the model.
Result<results::CompareReport> compare(const CompareRequest& request, const Log& log);

}  // namespace carina::explore
