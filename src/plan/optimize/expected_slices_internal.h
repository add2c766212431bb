#pragma once

#include "plan/family/context.h"

namespace carina::plan {

// Gives stripes the slices that they will have, before weights are encoded: storages that stand for them, the same for
// all stripes that read them.
void expect_slices(Schedule& schedule, const Context& context);

}  // namespace carina::plan
