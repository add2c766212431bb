#pragma once

#include <string_view>
#include <vector>

#include "backends/backend.h"

namespace carina::backends {

// "vgf": what can be compiled for without naming a device.
std::vector<std::string_view> vgf_targets();

// The ML extensions for Vulkan: a delegate is a VGF file, as ExecuTorch's VgfBackend reads it, for the driver's compiler
// to take from there. Floats and integers both; no cost is known. Artifact: the file, "graph.vgf".
Backend vgf_backend();

}  // namespace carina::backends
