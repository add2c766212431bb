#pragma once

#include "carina/log.h"
#include "driver/compilation.h"

namespace carina::driver {

// Says which tensors a program keeps from run to run, and what that costs.
void note_state(const Compilation& compilation, const Log& log);

}  // namespace carina::driver
