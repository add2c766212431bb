// Declares the compile pipeline from a model in memory to a packaged program.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "carina/buffer.h"
#include "carina/compile_report.h"
#include "carina/log.h"
#include "carina/result.h"
#include "driver/delegation.h"
#include "driver/diagnose_nodes.h"
#include "driver/package.h"
#include "driver/split.h"
#include "legalize/legalize.h"
#include "models/import.h"
#include "models/quantize.h"
#include "pte/emit.h"

namespace carina::driver {

struct CompileOptions : options::PipelineOptions {
  models::QuantizeRequest quantize;
  SplitOptions split;
  backends::DelegateOptions delegate;
  std::set<std::string> shared_states = {};  // pt2::ReadOptions::shared_states
  std::vector<std::string> shapes = {};      // tflite::set_shapes()
  std::string signature = {};                // models::ImportOptions::signature
};

// Sets the options for a model that Carina quantized: operators that the target lacks pass floats between each other,
// unless their CPU kernels take integers.
inline void keep_floats(CompileOptions& options) {
  const bool floats = options.cpu_kernels == pte::CpuKernels::kPortable;
  options.split.floats = floats ? partition::FloatsOnCpu::kKept : partition::FloatsOnCpu::kRounded;
}

// The state of one compilation. It holds partial results if a stage failed.
struct Compilation {
  models::Model model;
  std::optional<Delegated> delegated;
  std::optional<Package> package;                     // present if every stage succeeded
  std::vector<results::MeasuredScheme> schemes = {};  // as in the report
  std::vector<legalize::Legalized> legalized;         // the rewritten nodes, if CompileOptions::legalize is set
  std::vector<Disposition> dispositions;  // per node of the user's model, if the model could not be partitioned
  // The budgets that the program was compiled for, and the errors of a compilation with less SRAM (budgets.h).
  int64_t sram_budget_bytes = 0;
  int64_t flash_budget_bytes = 0;
  Diagnostics limit_errors = {};
  Diagnostics errors;  // all reasons why the compilation failed; Diagnostic::node is a node of the user's model
};

// How to quantize a model, and what choose_mixed_scheme() measured if a scheme was to be found.
struct FoundScheme {
  models::QuantizeRequest request;
  std::vector<results::MeasuredScheme> front = {};
};

// Finds the scheme of --quantize auto for a target; another request stays as it is. Errors: those of
// choose_mixed_scheme().
Result<FoundScheme> find_scheme(const models::Model& model, const CompileOptions& options,
                                const backends::Backend& backend, const Log& log);

// Compiles a .pt2 in memory. If a stage fails, the rest of the model is diagnosed so that all other errors are reported
// too.
Compilation compile_pt2(const Buffer& file, const std::string& where, const CompileOptions& options,
                        const backends::Backend& backend, const Log& log);

// Compiles a model that is already imported and quantized.
Compilation compile_model(models::Model model, const CompileOptions& options, const backends::Backend& backend,
                          const Log& log);

// A TOSA graph from a file. The origins of the nodes of a LiteRT file are its operators; else there are none.
struct TosaGraph {
  ir::Graph graph;
  std::vector<pt2::ModelNode> operators = {};
};

// Compiles a TOSA graph to a program of one delegate. The report has a row for each operator of a LiteRT file, else for
// each node.
Compilation compile_tosa(TosaGraph file, const std::string& where, const CompileOptions& options,
                         const backends::Backend& backend, const Log& log);

// True if the compilation succeeded or if its errors are about nodes of the model, so that a per-node report exists.
bool has_diagnostics(const Compilation& compilation);

// Returns the report that `carina compile` and `carina explain` print.
results::CompileReport compile_report(const Compilation& compilation, const backends::Backend& backend,
                                      const backends::DelegateOptions& options);

}  // namespace carina::driver
