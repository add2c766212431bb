#include "plan/network/weight_facts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <span>

#include "base/memory/prefetch.h"
#include "npu/weights/weight_codec.h"

namespace carina::plan {
namespace {

constexpr size_t kValues = npu::kMaxWeight - npu::kMinWeight + 1;
using Counts = std::array<uint32_t, kValues>;

// Counts in several tables. With one table, equal neighbors (often zeros) would wait for each other's update.
template <typename T>
Counts counts_of(std::span<const T> values) {
  constexpr size_t kTables = 4;
  std::array<Counts, kTables> tables{};
  const auto index = [](T value) { return static_cast<size_t>(value - npu::kMinWeight); };
  const size_t whole = values.size() - values.size() % kTables;
  for (size_t i = 0; i < whole; i += kTables) {
    if (i % kLineBytes == 0) prefetch_ahead(values.data() + i);
    ++tables[0][index(values[i])];
    ++tables[1][index(values[i + 1])];
    ++tables[2][index(values[i + 2])];
    ++tables[3][index(values[i + 3])];
  }
  for (const T value : values.subspan(whole)) ++tables.front()[index(value)];
  Counts counts{};
  for (const Counts& table : tables) std::ranges::transform(counts, table, counts.begin(), std::plus());
  return counts;
}

// The bits of a code of equal length for all values up to the largest magnitude.
double bits_of_range(const Counts& counts) {
  size_t magnitude = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const int value = static_cast<int>(i) + npu::kMinWeight;
    if (counts[i] != 0) magnitude = std::max(magnitude, static_cast<size_t>(std::abs(value)));
  }
  return static_cast<double>(std::bit_width(2 * magnitude));
}

// The bits of a weight in the fast format: of an index into a table of all values, or of the value itself. Zero is
// among the values, because the order pads with it.
int fast_bits_of(const Counts& counts) {
  constexpr int kSmallTable = 4, kTable = 16;
  constexpr int kRange = 256;
  int distinct = 0, least = 0, most = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const int value = static_cast<int>(i) + npu::kMinWeight;
    if (counts[i] == 0 && value != 0) continue;
    ++distinct;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (distinct <= kTable) return distinct <= kSmallTable ? 2 : 4;
  return most - least < kRange ? 8 : 0;
}

WeightFacts facts_of(const Weights& weights) {
  const Counts counts = weights.values.visit([](const auto& values) { return counts_of(values); });
  const auto all = static_cast<double>(weights.values.size());
  double bits = 0;
  for (const uint32_t count : counts) {
    if (count != 0) bits -= count / all * std::log2(count / all);
  }
  // Golomb codes and headers take a little more than the entropy. Codes of equal length are the alternative.
  constexpr double kOverhead = 1.03;
  return {.bits_per_weight = std::min(bits * kOverhead, bits_of_range(counts)),
          .zero_rate = counts[static_cast<size_t>(-npu::kMinWeight)] / all,
          .fast_bits = fast_bits_of(counts)};
}

}  // namespace

std::vector<WeightFacts> weight_facts(const Material& material, ThreadPool& threads) {
  std::vector<WeightFacts> facts(material.weights.size());
  threads.parallel_for(facts.size(), [&](size_t i) {
    if (!material.weights[i].values.empty()) facts[i] = facts_of(material.weights[i]);
  });
  return facts;
}

}  // namespace carina::plan
