#pragma once

#include "base/diagnostic.h"
#include "plan/compile.h"
#include "plan/program.h"

namespace carina::plan {

// Gives every tensor that is not constant its place in the arena. Errors: the arena would be larger than the limit: by
// how much, and which tensors live when it is fullest.
Result<void> place_tensors(Program& program, const Options& options);

}  // namespace carina::plan
