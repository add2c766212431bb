#pragma once

#include <vector>

#include "base/parallel/parallel.h"
#include "plan/network/network.h"

// Estimates of encoded weights that are made before the weights are encoded.
namespace carina::plan {

// An estimate of the encoded size of weights, from the histogram of their values.
struct WeightFacts {
  double bits_per_weight = 0;  // approximate
  double zero_rate = 0;
  int fast_bits = 0;  // of a weight in the fast format; 0: its values do not fit
  bool operator==(const WeightFacts&) const = default;
};

// Estimates for all weights, by WeightsId.
std::vector<WeightFacts> weight_facts(const Material& material, ThreadPool& threads);

}  // namespace carina::plan
