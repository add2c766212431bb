#pragma once

#include <vector>

#include "results/compare_report.h"

namespace carina::explore {

// Puts the layers of two networks beside each other, each in its order: by name where both have names (a layer of `b`
// stands with the layer of `a` that computes its node, several together), else those of one kind and about as many MACs,
// so that the order is kept and as much as possible meets.
struct MatchedLayers {
  bool by_name = false;
  std::vector<results::ComparedLayer> layers;
};
MatchedLayers match_layers(const results::NpuReport& a, const results::NpuReport& b);

}  // namespace carina::explore
