#pragma once

#include <functional>

#include "command.h"

namespace carina::cli {

// Runs a command and returns its exit code. What it throws is reported as other errors are, with --json as an object
// too: an internal error is exit code 3, no memory 1.
int run_guarded(const std::function<int()>& action, const Console& console);

}  // namespace carina::cli
