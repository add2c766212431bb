#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "carina/result.h"
#include "sweep_models.h"
#include "sweep_options.h"

// Declares the parts of `carina sweep` that python/carina/cluster calls: describe a sweep, and compile a part of it.

namespace carina::cli {

// Returns {"version", "program_sha256"} of this program. Errors: its file cannot be read.
Result<std::string> identity_json();

// Returns the request for a model. With --state it has the key of the state: a digest of this program, of the options
// that rows depend on, and of the files' names and contents. Errors: a file cannot be read.
Result<explore::SweepRequest> with_state_key(ModelSweep model);

// Returns the JSON of a report::SweepDescription per model. Errors (usage): wrong options, and options that cannot be
// used on a cluster.
Result<std::string> describe_sweep(const CLI::App& app, const std::vector<ModelSweep>& models);

// Compiles a part (report::SweepJob) and prints a line per combination. If it stops early, the last line has the error.
// Returns the exit code.
int make_part(const SweepOptions& options);

}  // namespace carina::cli
