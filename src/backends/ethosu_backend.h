#pragma once

#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "plan/network/target.h"

namespace carina::backends {

// The accelerators that can be compiled for.
std::vector<std::string_view> ethosu_targets();

// Arm's Ethos-U: delegates are command streams in the container that ExecuTorch's EthosUBackend reads; their cost is
// the simulator's estimate. Artifacts: Vela's raw output, "vela.npz", and the schedule as text, "schedule.txt".
Backend ethosu_backend(const plan::Target& target);

}  // namespace carina::backends
