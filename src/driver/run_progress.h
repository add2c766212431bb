#pragma once

#include <functional>

#include "base/log.h"

namespace carina::driver {

// For what a run does between its operations: logs the step "run" of the log, which must outlive it, at most ten times a
// second, so that a listener can end a long run (by an exception, as Ctrl-C in Python) and costs a short one nothing.
std::function<void()> run_progress(const Log& log);

}  // namespace carina::driver
