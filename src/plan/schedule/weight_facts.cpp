#include "plan/schedule/weight_facts.h"

#include <array>
#include <cmath>

#include "npu/weight_codec.h"

namespace carina::plan {
namespace {

WeightFacts facts_of(const Weights& weights) {
  constexpr size_t kValues = npu::kMaxWeight - npu::kMinWeight + 1;
  std::array<uint32_t, kValues> counts{};
  weights.values.visit([&](const auto& values) {
    for (const int value : values) ++counts[static_cast<size_t>(value - npu::kMinWeight)];
  });
  const auto all = static_cast<double>(weights.values.size());
  double bits = 0;
  for (const uint32_t count : counts) {
    if (count != 0) bits -= count / all * std::log2(count / all);
  }
  // Golomb codes and headers take a little more than the entropy.
  constexpr double kOverhead = 1.03;
  return {.bits_per_weight = bits * kOverhead, .zero_rate = counts[static_cast<size_t>(-npu::kMinWeight)] / all};
}

}  // namespace

std::vector<WeightFacts> weight_facts(const Material& material) {
  std::vector<WeightFacts> facts;
  for (const Weights& weights : material.weights)
    facts.push_back(weights.values.empty() ? WeightFacts{} : facts_of(weights));
  return facts;
}

}  // namespace carina::plan
