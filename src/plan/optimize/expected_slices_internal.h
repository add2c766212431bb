#pragma once

#include <optional>
#include <span>

#include "plan/family/context.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// Gives each stripe the weight slice that it is expected to have, before weights are encoded. All stripes that read the
// same weights share a placeholder storage. `blocks_for_copies`: as in stageable(); their order of weights counts.
void expect_slices(Schedule& schedule, const Context& context, std::span<const BlockConfig> blocks_for_copies = {});

// The cycles of the network once its weights are encoded and copied; nothing if its tensors do not fit.
std::optional<double> expected_cycles(Schedule schedule, const Context& context);

}  // namespace carina::plan
