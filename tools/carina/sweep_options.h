#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cluster_options.h"
#include "explore/sweep.h"

namespace carina::cli {

// The command line of `carina sweep`.
struct SweepOptions {
  explore::SweepRequest request;    // of the one model, or of all: then without a model
  std::vector<std::string> models;  // .pt2 or .tosa
  std::string list;                 // a file with further models, each with its options
  std::string rows;                 // a file with the rows of finished sweeps; empty: they are to be made
  std::string table;
  std::string page;
  bool strict = false;  // exit code 1 when a combination failed
  ClusterOptions cluster;
};

// Adds all of them to the command.
void add_sweep_options(CLI::App& app, SweepOptions& options);

}  // namespace carina::cli
