#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cluster_options.h"
#include "explore/accuracy.h"

// What python/carina/cluster asks of `carina accuracy`, to share the samples among the workers of a cluster.

namespace carina::cli {

struct SharedAccuracy {
  explore::AccuracyRequest request;
  std::string state;  // a folder with the scores; empty: none
  std::string job;
};

// What there is to do (report::AccuracyDescription). Errors: as of accuracy(); a file cannot be read.
Result<std::string> describe_accuracy(const CLI::App& app, const SharedAccuracy& shared);

// The report from the scores that the state has. Errors: the score of a sample is missing.
Result<results::AccuracyReport> kept_accuracy(const SharedAccuracy& shared);

// Does the samples of --job and prints a line for each; the last line says why it ended early. Returns the exit code.
int score_part(const SharedAccuracy& shared);

}  // namespace carina::cli
