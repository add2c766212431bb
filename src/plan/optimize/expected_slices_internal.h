#pragma once

#include "plan/family/context.h"

namespace carina::plan {

// Gives each stripe the weight slice that it is expected to have, before weights are encoded. All stripes that read the
// same weights share a placeholder storage.
void expect_slices(Schedule& schedule, const Context& context);

}  // namespace carina::plan
