#pragma once

#include <vector>

#include "base/parallel/parallel.h"
#include "plan/network/network.h"

namespace carina::plan {

// What weights will be like once they are encoded, told from how often each value comes.
struct WeightFacts {
  double bits_per_weight = 0;  // about
  double zero_rate = 0;
};

// By WeightsId.
std::vector<WeightFacts> weight_facts(const Material& material, ThreadPool& threads);

}  // namespace carina::plan
