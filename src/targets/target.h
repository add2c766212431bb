// Declares the lookup of a target by the names of its accelerator, system configuration and memory mode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/options.h"
#include "carina/result.h"
#include "carina/target.h"
#include "plan/network/target.h"

namespace carina::targets {

// A target as the command line names it: configuration files are paths.
using TargetRequest = options::TargetOptions;

// Returns whether a path is that of Vela's own configuration file, which is built in: no file is read.
bool is_built_in(const std::string& path);

// Returns a target. Notes: keys that a file omits, with the values used. Errors (usage): unknown names, each with the
// valid ones; a damaged file; values out of range; an arena in read-only memory.
Result<plan::Target> find_target(const TargetNames& names, const Log& log = {});

// Returns the names of a request, with the contents of its configuration files. Errors: a file that cannot be read.
Result<TargetNames> read_names(const TargetRequest& request);
Result<plan::Target> find_target(const TargetRequest& request, const Log& log = {});

// Names the system configuration and the memory mode that Vela takes for this NPU where its command line names none. A
// name that is there stays.
void add_vela_defaults(TargetRequest& request);

}  // namespace carina::targets
