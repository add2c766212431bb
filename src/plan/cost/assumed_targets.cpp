#include "plan/cost/assumed_targets.h"

#include "npu/cost/assumptions.h"

namespace carina::plan {

std::vector<AssumedTarget> assumed_targets(const Target& target) {
  std::vector<AssumedTarget> targets;
  for (const npu::Assumption& assumption : npu::kAssumptions) {
    // The planner's cost has no overlap of kernels. Its largest effect on one kernel is that of "no block start".
    if (assumption.kernel_overlap != 0) continue;
    targets.push_back({.target = target, .detail = npu::assumed(npu::kTimeLineCost, assumption)});
    targets.back().target.system = npu::assumed(target.system, assumption);
  }
  return targets;
}

Target with_twice_the_latencies(Target target) {
  target.system = npu::assumed(target.system, npu::kLatenciesDoubled);
  return target;
}

}  // namespace carina::plan
