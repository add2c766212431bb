// Declares the backend of the ML extensions for Vulkan.
#pragma once

#include <string_view>
#include <vector>

#include "backends/backend.h"

namespace carina::backends {

// The target name "vgf". It names no device.
std::vector<std::string_view> vgf_targets();

// Returns the backend of the ML extensions for Vulkan. A delegate is a VGF file, as ExecuTorch's VgfBackend reads it;
// the driver's compiler compiles it on the device. Floats and integers are supported; the cost is unknown. Artifact:
// the file, "graph.vgf".
Backend vgf_backend();

}  // namespace carina::backends
