#pragma once

#include <cstddef>
#include <span>

#include "npu/compiled_network.h"
#include "simulate/interface/options.h"

namespace carina::estimate {

// Memory of the sizes that a compiled network asks for.
struct Scratch {
  std::span<std::byte> scratch = {};
  std::span<std::byte> fast_scratch = {};  // empty if the network has none: then its region is that of `scratch`
};

// The regions of a compiled network for a run on the simulator. The stream must not write the weights: they are read
// only.
simulate::Memory network_memory(const npu::CompiledNetwork& network, const Scratch& memory);

}  // namespace carina::estimate
