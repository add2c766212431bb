#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace carina::cli {

// Becomes the Python program that shares a command among the workers of a cluster (carina.cluster). $CARINA_PYTHON names
// the Python, else it is python3. Returns only when there is none: why.
Diagnostics become_cluster_program(const std::vector<std::string>& command_line);

}  // namespace carina::cli
