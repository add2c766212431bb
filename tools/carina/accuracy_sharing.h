#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cluster_options.h"
#include "explore/accuracy.h"

// Declares the parts of `carina accuracy` that python/carina/cluster calls.

namespace carina::cli {

struct SharedAccuracy {
  explore::AccuracyRequest request;
  std::string state;  // a folder with scores; empty: no state
  std::string job;
};

// Returns the JSON of a report::AccuracyDescription. Errors: as of accuracy(); a file cannot be read.
Result<std::string> describe_accuracy(const CLI::App& app, const SharedAccuracy& shared);

// Returns the report from the scores in the state. Errors: the score of a sample is missing.
Result<results::AccuracyReport> kept_accuracy(const SharedAccuracy& shared);

// Runs the samples of --job and prints a line per sample. If it stops early, the last line has the error. Returns the
// exit code.
int score_part(const SharedAccuracy& shared);

}  // namespace carina::cli
