#include <utility>

#include "npu/swd_plan_internal.h"

namespace carina::npu::swd {

namespace {

using RunBits = std::array<uint64_t, kMaxZdiv + 1>;

// Lengths of runs of zeros.
class RunCounter {
 public:
  void add(uint32_t length, uint32_t times = 1) {
    if (length < short_.size()) {
      short_[length] += times;
    } else {
      add_bits(length, times);
    }
  }
  [[nodiscard]] const RunBits& bits() {
    for (uint32_t length = 0; length < short_.size(); ++length) add_bits(length, std::exchange(short_[length], 0));
    return bits_;
  }

 private:
  void add_bits(uint32_t length, uint64_t times) {
    for (size_t d = 0; d < bits_.size(); ++d) bits_[d] += times * ((length >> d) + 1 + d);
  }

  std::array<uint32_t, 32> short_{};  // most are
  RunBits bits_{};
};

constexpr size_t kLanes = 16;

bool has_zero(std::span<const int16_t, kLanes> weights) {
  int16_t zeros = 0;
  for (const int16_t weight : weights) zeros |= static_cast<int16_t>(weight == 0 ? 1 : 0);
  return zeros != 0;
}

RunBits run_bits_of(std::span<const int16_t> weights) {
  RunCounter runs;
  uint32_t run = 0;
  const auto see = [&](int16_t weight) {
    if (weight != 0) runs.add(run);
    run = weight != 0 ? 0 : run + 1;
  };
  for (; weights.size() >= kLanes; weights = weights.subspan(kLanes)) {
    if (has_zero(weights.first<kLanes>())) {
      for (const int16_t weight : weights.first<kLanes>()) see(weight);
    } else {
      runs.add(std::exchange(run, 0));
      runs.add(0, kLanes - 1);
    }
  }
  for (const int16_t weight : weights) see(weight);
  runs.add(run);
  return runs.bits();
}

}  // namespace

// Counted in turns, so that no counter waits for itself when equal weights follow one another.
Statistics statistics_of(std::span<const int16_t> weights) {
  constexpr size_t kTurns = 2;
  std::array<std::array<uint32_t, kFoldedValues>, kTurns> counts{};
  const size_t whole = weights.size() - weights.size() % kTurns;
  const auto index = [](int16_t weight) { return static_cast<size_t>(fold(weight)); };
  for (size_t i = 0; i < whole; i += kTurns) {
    for (size_t turn = 0; turn < kTurns; ++turn) ++counts[turn][index(weights[i + turn])];
  }
  for (const int16_t weight : weights.subspan(whole)) ++counts[0][index(weight)];
  Statistics statistics{.count = counts[0], .run_bits = run_bits_of(weights)};
  for (size_t f = 0; f < kFoldedValues; ++f) statistics.count[f] += counts[1][f];
  return statistics;
}

}  // namespace carina::npu::swd
