#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/buffer.h"
#include "plan/network/target.h"

namespace carina::targets {

// A vela.ini in memory.
struct ConfigFile {
  std::string name;  // what messages call it
  Buffer text;
};

// A target by its names, in any case of letters; empty: the family's default.
struct TargetNames {
  std::string accelerator;    // as Vela names the configuration
  std::string system_config;  // a section of a file, or one of those built in
  std::string memory_mode;
  // Their sections come before those built in; of several, the keys of a later one before those of an earlier, as Vela
  // reads them.
  std::vector<ConfigFile> ini;
  // Instead of the memory mode's arena_cache_size: what of fast memory the network may take.
  std::optional<int64_t> arena_cache_bytes = {};
};

// The same as the command line has it.
struct TargetRequest {
  std::string accelerator;    // as Vela names the configuration
  std::string system_config;  // a section of vela.ini, or one of those built in
  std::string memory_mode;
  std::vector<std::string> config_files;  // "Arm/vela.ini", where there is no such file, is what is built in
  std::optional<int64_t> arena_cache_bytes = {};
};

// Notes: keys that a file leaves out, with what is taken for them. Errors (usage): unknown names, each with the list of
// valid ones; a damaged file, values out of range; an arena in memory that cannot be written.
Result<plan::Target> find_target(const TargetNames& names, const Log& log = {});

// The names of a request, its configuration files read. Errors: a file that cannot be read.
Result<TargetNames> read_names(const TargetRequest& request);
Result<plan::Target> find_target(const TargetRequest& request, const Log& log = {});

}  // namespace carina::targets
