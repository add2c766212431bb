#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cluster_options.h"
#include "explore/sweep.h"

namespace carina::cli {

// The command line of `carina sweep`.
struct SweepOptions {
  explore::SweepRequest request;    // common to all models; its model is empty
  std::vector<std::string> models;  // .pt2 or .tosa
  std::string list;                 // a file with more models, each with its options
  std::string rows;                 // a file with rows of an earlier sweep; empty: compile
  std::string table;
  std::string page;
  bool fitting = false;  // show only combinations that keep to the budgets
  bool strict = false;   // exit code 1 when a combination failed
  ClusterOptions cluster;
};

// Adds all options to the command.
void add_sweep_options(CLI::App& app, SweepOptions& options);

}  // namespace carina::cli
