// Declares how a compilation keeps to budgets of SRAM and flash.
#pragma once

#include <functional>

#include "backends/backend.h"
#include "carina/compile_report.h"
#include "carina/log.h"
#include "driver/compilation.h"

namespace carina::driver {

// Compiles the delegates of a compilation with these options and packages them. Replaces what an earlier call made.
using CompileDelegates = std::function<void(Compilation& compilation, const backends::DelegateOptions&, const Log&)>;

// Calls `compile` so that the program keeps to CompileOptions::sram_budget_bytes, if it can. If it cannot, the
// compilation has the program that comes nearest, and Compilation::limit_errors says why none is smaller.
void compile_within_budget(Compilation& compilation, const CompileOptions& options, const backends::Backend& backend,
                           const CompileDelegates& compile, const Log& log);

// Returns an error for each budget that the figures of a report exceed, with what the bytes consist of.
// `limit_errors`: the errors of a compilation with the limit that the budget of SRAM asked for.
Diagnostics exceeded_budgets(const results::CompileReport& report, const Diagnostics& limit_errors);

}  // namespace carina::driver
