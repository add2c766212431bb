#pragma once

#include <string>

#include "base/diagnostic.h"
#include "plan/target.h"

namespace carina::driver {

// The target as the command line names it; empty: the family's default.
struct TargetRequest {
  std::string accelerator;    // "ethos-u55-128"
  std::string system_config;  // a section of vela.ini, or one of those built in
  std::string memory_mode;
  std::string config_file;  // a vela.ini, whose sections come before those built in; empty: only those built in
};

// Errors (usage): unknown names, each with the list of valid ones; a damaged or incomplete ini file; an arena in memory
// that cannot be written.
Result<plan::Target> find_target(const TargetRequest& request);

}  // namespace carina::driver
