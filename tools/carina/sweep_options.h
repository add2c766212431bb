#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "explore/sweep.h"

namespace carina::cli {

// The command line of `carina sweep`.
struct SweepOptions {
  explore::SweepRequest request;    // of the one model, or of all: then without a model
  std::vector<std::string> models;  // .pt2 or .tosa
  std::string rows;                 // a file with the rows of finished sweeps; empty: they are to be made
  std::string table;
  std::string page;
  bool strict = false;  // exit code 1 when a combination failed
  // Of a cluster; Python reads them (python/carina/cluster/options.py).
  std::string scheduler;
  double wait_seconds = 0;
  double timeout_seconds = 0;
  std::string progress;
  std::string performance;
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
  // For python/carina/cluster, not shown in --help.
  bool identity = false;   // print version and digest of this program
  bool describe = false;   // print what there is to do
  bool only_kept = false;  // show what --state has
  std::string job;         // a file with what to do of it
};

// Adds all of them to the command.
void add_sweep_options(CLI::App& app, SweepOptions& options);

}  // namespace carina::cli
