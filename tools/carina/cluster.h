#pragma once

#include <string>
#include <vector>

#include "carina/result.h"

namespace carina::cli {

// Replaces the process by the Python program that runs the arguments of `carina sweep` on a cluster (carina.sweep).
// $CARINA_PYTHON names the Python; the default is python3. Returns only if it cannot be started, with the reason.
Diagnostics become_cluster_sweep(const std::vector<std::string>& command_line);

}  // namespace carina::cli
