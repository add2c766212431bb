#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/buffer.h"
#include "driver/delegation.h"
#include "driver/diagnose_nodes.h"
#include "driver/package.h"
#include "driver/split.h"
#include "legalize/legalize.h"
#include "models/import.h"
#include "models/quantize.h"
#include "pte/emit.h"
#include "results/compile_report.h"

namespace carina::driver {

struct CompileOptions {
  models::QuantizeRequest quantize;
  SplitOptions split;
  backends::DelegateOptions delegate;
  pte::CpuKernels cpu_kernels = pte::CpuKernels::kPortable;
  bool legalize = false;    // rewrite nodes that the target refuses, where no number changes
  int64_t loop_rounds = 0;  // pt2::ReadOptions::loop_rounds
};

// Of a model that was quantized here: what the target does not have passes on floats, unless its kernels take integers.
inline void keep_floats(CompileOptions& options) {
  const bool floats = options.cpu_kernels == pte::CpuKernels::kPortable;
  options.split.floats = floats ? partition::FloatsOnCpu::kKept : partition::FloatsOnCpu::kRounded;
}

// A model on its way to a program, as far as it came.
struct Compilation {
  models::Model model;
  std::optional<Delegated> delegated;
  std::optional<Package> package;              // it came all the way
  std::vector<legalize::Legalized> legalized;  // where they were asked for
  std::vector<Disposition> dispositions;       // per node of the user's model, where it could not be split
  Diagnostics errors;  // why it did not come further: all there is to say. Diagnostic::node is a node of the
                       // user's model
};

// The whole way of a .pt2, in memory. Where a stage fails, the rest is surveyed for whatever else is in the way.
Compilation compile_pt2(const Buffer& file, const std::string& where, const CompileOptions& options,
                        const backends::Backend& backend, const Log& log);

// The same for a model that is imported and quantized.
Compilation compile_model(models::Model model, const CompileOptions& options, const backends::Backend& backend,
                          const Log& log);

// The same for a TOSA graph: one delegate.
Compilation compile_tosa(ir::Graph tosa, const std::string& where, const CompileOptions& options,
                         const backends::Backend& backend, const Log& log);

// Whether there is anything to say of the model's nodes: it came through, or the model is what is wrong with it.
bool has_diagnostics(const Compilation& compilation);

// What `carina compile` and `carina explain` say of it.
results::CompileReport compile_report(const Compilation& compilation, const backends::Backend& backend,
                                      const backends::DelegateOptions& options);

}  // namespace carina::driver
