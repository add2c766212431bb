#pragma once

#include <vector>

#include "results/compare_report.h"

namespace carina::explore {

// Pairs the layers of two networks. If both name their layers, it pairs by name: a layer of `b` is paired with the
// layer of `a` that computes its node, and several may share one. Otherwise it pairs layers of the same kind with
// similar MACs, keeps both orders, and pairs as many as possible.
struct MatchedLayers {
  bool by_name = false;
  std::vector<results::ComparedLayer> layers;
};
MatchedLayers match_layers(const results::NpuReport& a, const results::NpuReport& b);

}  // namespace carina::explore
