#pragma once

#include <functional>

#include "command.h"

namespace carina::cli {

// Runs a command and returns its exit code. Exceptions are reported like other errors, with --json as an object too. An
// internal error gives exit code 3, lack of memory 1.
int run_guarded(const std::function<int()>& action, const Console& console);

}  // namespace carina::cli
