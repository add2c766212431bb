#pragma once

#include <string>
#include <vector>

#include "carina/result.h"
#include "results/target_list.h"
#include "targets/target.h"

namespace carina::targets {

// Lists all targets, the built-in and the given system configurations and memory modes, and which of them are
// compatible. If several have one name, the one that find_target() uses is listed. Errors: those of the files.
Result<results::TargetList> list_targets(const std::vector<ConfigFile>& files);
// Lists targets with configuration files on disk.
Result<results::TargetList> list_targets(const std::vector<std::string>& config_files);

}  // namespace carina::targets
