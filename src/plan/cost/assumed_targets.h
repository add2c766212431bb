#pragma once

#include <vector>

#include "npu/cost/cost.h"
#include "plan/network/target.h"

namespace carina::plan {

// A target under one assumption of the cycle model (npu/cost/assumptions.h): its memories, and the components of its
// cost.
struct AssumedTarget {
  Target target;
  npu::CostDetail detail;
};

// The target under each assumption. The first is the nominal model.
std::vector<AssumedTarget> assumed_targets(const Target& target);

// The target with memories of twice the latency.
Target with_twice_the_latencies(Target target);

}  // namespace carina::plan
