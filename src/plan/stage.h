#pragma once

#include "plan/compile.h"
#include "plan/program.h"

namespace carina::plan {

// Decides which operations have their weights copied to the arena, and before which operation each copy starts: weights
// that would otherwise hold the operation up, as late as the copy can still be hidden behind the operations before, as
// long as the arena does not grow beyond its limit. Operations with the same weights share one copy. Fills `staged` and
// `loads`.
void stage_weights(Program& program, const Target& target, const Options& options);
// Leaves all weights where they are.
void stage_nothing(Program& program);

}  // namespace carina::plan
