// Declares `carina interpret`: the verification and evaluation of a TOSA file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "datasets/outputs.h"
#include "datasets/run_inputs.h"
#include "datasets/samples.h"
#include "results/run_report.h"

namespace carina::execute {

inline constexpr size_t kDefaultMemoryBudget = size_t{4} << 30;

struct InterpretRequest {
  std::string model;  // .tosa
  // the file's bytes, if they are in memory; `model` is then only the name in messages
  Buffer file = {};
  std::vector<std::string> inputs;    // one .npy per graph input; none: zeros
  datasets::InputSource arrays = {};  // used instead of `inputs`
  std::string output_folder;          // the folder of output_<n>.npy; empty: none are written
  std::string dump_folder;            // every intermediate value as .npy; empty: none are written
  bool profile = false;
  std::string level = "8K";                           // of the verifier, or "none"
  size_t memory_budget_bytes = kDefaultMemoryBudget;  // for the tensors of the run and the memory of the plan
  int threads = 1;
  datasets::ImageOptions images = {};
};

struct Interpreted {
  std::vector<datasets::NamedTensor> outputs;
  results::InterpretReport report;
};

// Verifies a TOSA file and evaluates it in the interpreter. Errors: the reader's; "rule ..." of the verifier; more
// memory than the budget, which is rejected before any is allocated; inputs of the wrong type or shape; "REQUIRE ..."
// if the data violate a condition of the specification; folders that cannot be written.
Result<Interpreted> interpret(const InterpretRequest& request, const Log& log);

}  // namespace carina::execute
