#pragma once

#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "driver/compile.h"
#include "results/sweep_report.h"

namespace carina::explore {

struct SweepRequest {
  // What all combinations have in common; target, memory mode and scheme of quantization are those of the lists.
  driver::CompileRequest model;
  std::vector<std::string> targets;        // names, or what they begin with, or "all"
  std::vector<std::string> memory_modes;   // names, "all", or none: each target's default
  std::vector<std::string> quantizations;  // as QuantizeFlags::scheme; none: as the model is
  std::string program_folder;  // <target>_<memory mode>_<quantization>.pte go there; empty: none are written
  // What to do for others who share a sweep: only the combinations n of N with n % parts == part.
  size_t part = 0;
  size_t parts = 1;
};

// Compiles a model for every combination, at the same time on `model.threads` threads, quantizing it once per scheme.
// Rows stand in the order quantization, target, memory mode, whatever the number of threads. What is wrong with one
// combination is said in its row. Errors: names that there are not (usage); a file that cannot be read; a folder that
// cannot be written.
Result<results::SweepReport> sweep(const SweepRequest& request, const Log& log);

}  // namespace carina::explore
