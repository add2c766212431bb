#pragma once

#include "plan/program.h"
#include "plan/target.h"

namespace carina::plan {

// Puts operations in order and inserts the loading of lookup tables before their users, and of staged weights where
// `loads` says. Fills `commands`.
void schedule(Program& program, const Target& target);

}  // namespace carina::plan
