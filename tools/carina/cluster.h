#pragma once

#include <string>
#include <vector>

#include "carina/result.h"

namespace carina::cli {

// Replaces the process by the Python program that divides the command among the workers of a cluster (carina.cluster).
// $CARINA_PYTHON names the Python; the default is python3. Returns only if it cannot be started, with the reason.
Diagnostics run_as_cluster_program(const std::vector<std::string>& command_line);

}  // namespace carina::cli
