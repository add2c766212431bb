#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/buffer.h"
#include "datasets/outputs.h"
#include "datasets/samples.h"
#include "results/run_report.h"

namespace carina::execute {

inline constexpr size_t kDefaultMemoryBudget = size_t{4} << 30;

struct InterpretRequest {
  std::string model;                  // .tosa
  Buffer file = {};                   // its bytes, where it is in memory; then `model` is what messages call it
  std::vector<std::string> inputs;    // one .npy per graph input; none: zeros
  datasets::InputSource arrays = {};  // instead of `inputs`
  std::string output_folder;          // output_<n>.npy go there; empty: none are written
  std::string dump_folder;            // every intermediate value as .npy; empty: none are written
  bool profile = false;
  std::string level = "8K";                           // of the verifier, or "none"
  size_t memory_budget_bytes = kDefaultMemoryBudget;  // of the tensors of the run and what the plan holds
  int threads = 1;
};

struct Interpreted {
  std::vector<datasets::NamedTensor> outputs;
  results::InterpretReport report;
};

// Verifies a TOSA file and evaluates it in the interpreter. Errors: of the reader, "rule ..." of the verifier, of the
// interpreter's planning (so much memory is refused before any is taken), inputs that do not fit, "REQUIRE ..." of a
// condition of the specification that the data break, folders that cannot be written.
Result<Interpreted> interpret(const InterpretRequest& request, const Log& log);

}  // namespace carina::execute
