#pragma once

#include "plan/compile.h"
#include "plan/program.h"

namespace carina::plan {

// Decides which operations have their weights copied to the arena while the operation before them runs: those that would
// otherwise read them from slow memory several times, as long as the arena does not grow beyond its limit. Fills `staged`.
void stage_weights(Program& program, const Target& target, const Options& options);

}  // namespace carina::plan
