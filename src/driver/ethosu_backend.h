#pragma once

#include "driver/backend.h"
#include "plan/target.h"

namespace carina::driver {

// Arm's Ethos-U: delegates are command streams in the container that ExecuTorch's EthosUBackend reads; their cost is
// the simulator's estimate. Artifact: Vela's raw output, "vela.npz".
Backend ethosu_backend(const plan::Target& target);

}  // namespace carina::driver
