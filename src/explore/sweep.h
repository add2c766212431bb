#pragma once

#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "driver/compile.h"
#include "results/sweep_report.h"

namespace carina::explore {

struct SweepRequest {
  // The options that all combinations share. Its target, memory mode and quantization scheme are replaced by those of
  // the lists.
  driver::CompileRequest model;
  std::vector<std::string> targets;        // names, prefixes of names, or "all"
  std::vector<std::string> memory_modes;   // names or "all"; empty: each target's default
  std::vector<std::string> quantizations;  // values of QuantizeFlags::scheme; empty: the model's own quantization
  std::string program_folder;  // folder for <target>_<memory mode>_<quantization>.pte; empty: no programs are written
  // For a sweep that is divided between several processes: compile only the combinations n of N with n % parts == part.
  size_t part = 0;
  size_t parts = 1;
};

// Compiles a model for every combination, concurrently on `model.threads` threads. The model is quantized once per
// scheme. Rows are ordered by quantization, target and memory mode for any number of threads. A combination that fails
// has its error in its row. Errors: unknown names (usage); a file that cannot be read; a folder that cannot be written.
Result<results::SweepReport> sweep(const SweepRequest& request, const Log& log);

}  // namespace carina::explore
