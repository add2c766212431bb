#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace carina::cli {

// The options of the commands that can run on a cluster. Python reads them from the output of --describe.
struct ClusterOptions {
  std::string scheduler;  // empty: no cluster
  double wait_seconds = 0;
  double timeout_seconds = 0;
  std::string progress;
  std::string performance;
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
  // Used by python/carina/cluster only. --help does not list them.
  bool identity = false;   // print version and digest of this program
  bool describe = false;   // print a description of the work
  bool only_kept = false;  // report the results in --state without computing others
  std::string job;         // a file with the items that a worker computes
};

// Adds them. `item` is the unit of --timeout: "combination", "sample".
void add_cluster_options(CLI::App& app, ClusterOptions& options, const std::string& item);

}  // namespace carina::cli
