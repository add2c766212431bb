#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace carina::cli {

// The options of the commands that share their work on a cluster. Python reads them from --describe.
struct ClusterOptions {
  std::string scheduler;  // empty: no cluster
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

// `item`: what --timeout is for.
void add_cluster_options(CLI::App& app, ClusterOptions& options, const std::string& item);

}  // namespace carina::cli
