#include "plan/select/estimate_internal.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "npu/cost/cost.h"
#include "plan/cost/cost.h"
#include "plan/cost/kernel_cost.h"

namespace carina::plan {

namespace {

// The bytes on the bus for a map of an operation that reads or writes each element once. Pixels with bytes between them
// are short runs.
double bytes_on_bus(const FeatureMap& map, const npu::MemoryPort& port, int beat_bytes) {
  const bool has_gaps = map.stride_x > map.depth && map.stride_c == 1;
  const int64_t pixel = map.depth * map.type.bytes(), whole = map.height * map.width * pixel;
  return npu::bus_bytes({.bytes = static_cast<double>(whole),
                         .run_bytes = static_cast<double>(has_gaps ? pixel : whole),
                         .burst_bytes = port.burst_bytes,
                         .beat_bytes = beat_bytes});
}

}  // namespace

double cycles_of(const Selection& s, const Step& step) {
  const Target& target = s.target();
  const npu::MemoryPort& port = target.arena_port();
  const double bytes_per_cycle = npu::port_bytes_per_cycle(target.accelerator.product, port);
  const bool reads_each_once = has_no_macs(step) && step.second == SecondOperand::kFeatureMap;
  double once = 0;
  if (reads_each_once) {
    const int beat_bytes = npu::limits_of(target.accelerator.product).axi_port_bytes;
    for (const FeatureMap* map : {&step.ofm, &step.ifm, &step.ifm2}) once += bytes_on_bus(*map, port, beat_bytes);
  }
  double best = std::numeric_limits<double>::max();
  for (const BlockConfig& block : s.family().legal_blocks(step, target)) {
    const StripeCost cost = cost_of(step, block, s.family(), target);
    const double bytes = reads_each_once ? once : cost.ofm_bytes + cost.ifm_bytes + cost.ifm2_bytes;
    best = std::min(best, std::max(cost.npu_cycles, bytes / bytes_per_cycle));
  }
  return best;
}

double cheapest_cycles_in_place(const Selection& s, Step step, const std::optional<WeightFacts>& weights) {
  const auto space_of = [&](TensorId tensor) {
    const TensorKind kind = s.network()[tensor].kind;
    const bool is_fixed = kind == TensorKind::kInput || kind == TensorKind::kOutput;
    return is_fixed ? Space::kArena : working_space(s.target(), s.family());
  };
  const MapSpaces spaces{.ofm = space_of(step.ofm.tensor), .ifm = space_of(step.ifm.tensor)};
  return cheapest_cycles(std::move(step), s.family(), s.target(), spaces, weights);
}

}  // namespace carina::plan
