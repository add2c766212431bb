// Declares the lookup of a target by the names of its accelerator, system configuration and memory mode.
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
  // Sections of these files take precedence over the built-in ones. If several files have a key, the later file's value
  // counts, as in Vela.
  std::vector<ConfigFile> ini;
  // Replaces the memory mode's arena_cache_size: the fast memory that the network may use.
  std::optional<int64_t> arena_cache_bytes = {};
};

// A target as the command line names it: configuration files are paths.
struct TargetRequest {
  std::string accelerator;    // as Vela names the configuration
  std::string system_config;  // a section of vela.ini, or one of those built in
  std::string memory_mode;
  std::vector<std::string> config_files;  // "Arm/vela.ini", where there is no such file, is what is built in
  std::optional<int64_t> arena_cache_bytes = {};
};

// Returns a target. Notes: keys that a file omits, with the values used. Errors (usage): unknown names, each with the
// valid ones; a damaged file; values out of range; an arena in read-only memory.
Result<plan::Target> find_target(const TargetNames& names, const Log& log = {});

// The names of a request, its configuration files read. Errors: a file that cannot be read.
Result<TargetNames> read_names(const TargetRequest& request);
Result<plan::Target> find_target(const TargetRequest& request, const Log& log = {});

}  // namespace carina::targets
