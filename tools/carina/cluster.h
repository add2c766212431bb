#pragma once

#include <string>
#include <vector>

#include "carina/result.h"

namespace carina::cli {

// Becomes the Python program that has the words of `carina sweep` done on a cluster (carina.sweep); $CARINA_PYTHON names the
// Python, else it is python3. Returns only when there is none: why.
Diagnostics become_cluster_sweep(const std::vector<std::string>& command_line);

}  // namespace carina::cli
