#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "results/target_list.h"
#include "targets/target.h"

namespace carina::targets {

// Every target, the system configurations and memory modes that are built in and those of the files, and which fit
// which. Of names that stand in several places the one that find_target() takes. Errors: of the files.
Result<results::TargetList> list_targets(const std::vector<ConfigFile>& files);
// The same of files on disk.
Result<results::TargetList> list_targets(const std::vector<std::string>& config_files);

}  // namespace carina::targets
