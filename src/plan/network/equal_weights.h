#pragma once

#include <vector>

#include "plan/network/network.h"

// Which weights of a network are equal. The steps of a recurrent network have weights of their own with the same
// values, which are encoded and stored once.
namespace carina::plan {

struct EqualWeights {
  WeightsId values = {};  // the first weights with the same values in a kernel of the same form
  WeightsId scales = {};  // the first weights with the same biases and scales
  bool operator==(const EqualWeights&) const = default;
};

// By WeightsId. Weights without values (scales only) equal none in their values.
std::vector<EqualWeights> equal_weights(const Material& material);

}  // namespace carina::plan
