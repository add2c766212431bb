#include "plan/select/estimate_internal.h"

#include <algorithm>
#include <limits>

#include "npu/cost/cost.h"
#include "plan/cost/cost.h"

namespace carina::plan {

double cycles_of(const Selection& s, const Step& step) {
  const Target& target = s.target();
  const npu::MemoryPort& port = target.system.ports[static_cast<size_t>(target.memory.arena_port)];
  const double bytes_per_cycle = npu::port_bytes_per_cycle(target.accelerator.product, port);
  double best = std::numeric_limits<double>::max();
  for (const BlockConfig& block : s.family().legal_blocks(step, target)) {
    const StripeCost cost = cost_of(step, block, s.family(), target);
    const double bytes = cost.ofm_bytes + cost.ifm_bytes + cost.ifm2_bytes;
    best = std::min(best, std::max(cost.npu_cycles, bytes / bytes_per_cycle));
  }
  return best;
}

}  // namespace carina::plan
