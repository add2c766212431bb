#include "estimate/network_memory.h"

namespace carina::estimate {

simulate::Memory network_memory(const npu::CompiledNetwork& network, const Scratch& memory) {
  simulate::Memory regions;
  const auto weights = static_cast<size_t>(network.weight_region);
  regions.regions[weights] = {const_cast<std::byte*>(network.weights.data()), network.weights.size()};
  regions.read_only[weights] = true;
  regions.regions[static_cast<size_t>(network.scratch_region)] = memory.scratch;
  std::span<std::byte>& fast = regions.regions[static_cast<size_t>(network.fast_scratch_region)];
  if (!memory.fast_scratch.empty() || fast.empty())
    fast = memory.fast_scratch.empty() ? memory.scratch : memory.fast_scratch;
  return regions;
}

}  // namespace carina::estimate
