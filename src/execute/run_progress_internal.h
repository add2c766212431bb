#pragma once

#include <functional>

#include "carina/log.h"

namespace carina::execute {

// Returns a function that a run calls between operations. It logs the step "run" at the first call and then at most ten
// times per second, so that a listener can end the run with an exception (Ctrl-C in Python). `log` must outlive it.
std::function<void()> run_progress(const Log& log);

}  // namespace carina::execute
