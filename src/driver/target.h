#pragma once

#include <string>

#include "base/buffer.h"
#include "base/diagnostic.h"
#include "plan/target.h"

namespace carina::driver {

// A target by its names, in any case of letters; empty: the family's default.
struct TargetNames {
  std::string accelerator;    // as Vela names the configuration
  std::string system_config;  // a section of the ini, or one of those built in
  std::string memory_mode;
  Buffer ini;  // the text of a vela.ini, whose sections come before those built in; empty: only those built in
  std::string ini_name = "vela.ini";  // what messages call it
};

// The same as the command line has it.
struct TargetRequest {
  std::string accelerator;    // as Vela names the configuration
  std::string system_config;  // a section of vela.ini, or one of those built in
  std::string memory_mode;
  std::string config_file;  // a vela.ini, whose sections come before those built in; empty: only those built in
};

// Errors (usage): unknown names, each with the list of valid ones; a damaged or incomplete ini file; an arena in memory
// that cannot be written.
Result<plan::Target> find_target(const TargetNames& names);

// The names of a request, its configuration file read. Errors: a file that cannot be read.
Result<TargetNames> read_names(const TargetRequest& request);
Result<plan::Target> find_target(const TargetRequest& request);

}  // namespace carina::driver
