#pragma once

#include <functional>

#include "base/log.h"

namespace carina::execute {

// For what a run does between its operations: logs the step "run" of the log, which must outlive it, before the first and
// then at most ten times a second, so that a listener can end a run (by an exception, as Ctrl-C in Python).
std::function<void()> run_progress(const Log& log);

}  // namespace carina::execute
