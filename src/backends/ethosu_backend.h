// Declares the backend of Arm's Ethos-U NPUs.
#pragma once

#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "plan/network/target.h"

namespace carina::backends {

// The supported accelerator names.
std::vector<std::string_view> ethosu_targets();

// Returns the backend of an Ethos-U target. Delegates are command streams in the container that ExecuTorch's
// EthosUBackend reads; their cost is the simulator's estimate. Artifacts: Vela's raw output "vela.npz" and the schedule
// as text, "schedule.txt".
Backend ethosu_backend(const plan::Target& target);

}  // namespace carina::backends
