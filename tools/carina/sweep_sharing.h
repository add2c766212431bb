#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "sweep_models.h"
#include "sweep_options.h"

// What python/carina/cluster asks of the command, to share a sweep among the workers of a cluster.

namespace carina::cli {

// {"version", "program_sha256"} of this program. Errors: its file cannot be read.
Result<std::string> identity_json();

// The request for a model, where there is a state with its key: a digest of this program, of the options that rows
// depend on, and of the files' names and contents. Errors: a file cannot be read.
Result<explore::SweepRequest> with_state_key(ModelSweep model);

// What there is to do, per model (report::SweepDescription). Errors (usage): of the options, and options that have no
// meaning on a cluster.
Result<std::string> describe_sweep(const CLI::App& app, const std::vector<ModelSweep>& models);

// Does a part (report::SweepJob) and prints a line per combination; the last line says why it ended early. Returns the
// exit code.
int make_part(const SweepOptions& options);

}  // namespace carina::cli
