#include <bit>
#include <cstring>

#include "carina/check.h"
#include "npu/weights/swd_plan_internal.h"
#include "npu/weights/weight_codec.h"

// Statistics of weights that the encoder's choices need: how often each value occurs, and how long the runs of zeros
// are.
//   Example: 0 0 0 5 0 7 has runs of 3, 1 and 0 zeros. With the divisor 2 their quotients are 1, 0 and 0.
namespace carina::npu::swd {

namespace {

constexpr size_t kGroup = 64;

// A mask with one bit for each weight that is 0.
uint64_t zeros_of(std::span<const int16_t, kGroup> weights) {
  constexpr size_t kLanes = 8;
  constexpr uint64_t kGather = 0x0102040810204080;  // moves the lowest bit of byte i to bit 56 + i
  static_assert(std::endian::native == std::endian::little);
  std::array<uint8_t, kGroup> is_zero{};
  for (size_t i = 0; i < kGroup; ++i) is_zero[i] = weights[i] == 0 ? 1 : 0;
  uint64_t zeros = 0;
  for (size_t i = 0; i < kGroup; i += kLanes) {
    uint64_t lanes = 0;
    std::memcpy(&lanes, is_zero.data() + i, sizeof lanes);
    zeros |= (lanes * kGather >> (kGroup - kLanes)) << i;
  }
  return zeros;
}

// The sum of the quotients of the zero runs' lengths, for each divisor.
class RunQuotients {
 public:
  // Adds `count` weights, given as the mask of zeros_of().
  void add(uint64_t zeros, size_t count) {
    if (zeros == 0) {
      end_run();
      return;
    }
    const auto first = static_cast<size_t>(std::countr_one(zeros));
    run_ += first;
    if (first >= count) return;
    end_run();
    const auto last = static_cast<size_t>(std::countl_one(zeros << (kGroup - count)));
    add_inner(zeros >> first & ~uint64_t{0} >> (kGroup - count + last) >> first);
    run_ = last;
  }
  [[nodiscard]] const std::array<uint64_t, kMaxZdiv + 1>& finish() {
    end_run();
    return sums_;
  }

 private:
  void end_run() {
    for (size_t d = 0; d < sums_.size(); ++d) sums_[d] += run_ >> d;
    run_ = 0;
  }
  // Adds the runs that start and end inside of the mask. The number of runs of at least n zeros is the number of runs
  // that remain if each run is shortened by n - 1. The quotient of a length is the number of multiples of the divisor
  // that it reaches.
  void add_inner(uint64_t zeros) {
    sums_[0] += static_cast<uint64_t>(std::popcount(zeros));
    for (size_t length = 2; (zeros &= zeros >> 1) != 0; ++length) {
      const auto runs = static_cast<uint64_t>(std::popcount(zeros & ~(zeros << 1)));
      for (size_t d = 1; d < sums_.size() && length % (size_t{1} << d) == 0; ++d) sums_[d] += runs;
    }
  }

  uint64_t run_ = 0;  // length of the current run
  std::array<uint64_t, kMaxZdiv + 1> sums_{};
};

std::array<uint64_t, kMaxZdiv + 1> run_quotients(std::span<const int16_t> weights) {
  RunQuotients quotients;
  for (; weights.size() >= kGroup; weights = weights.subspan(kGroup))
    quotients.add(zeros_of(weights.first<kGroup>()), kGroup);
  if (weights.empty()) return quotients.finish();
  std::array<int16_t, kGroup> rest{};
  std::ranges::copy(weights, rest.begin());
  quotients.add(zeros_of(rest) & ~uint64_t{0} >> (kGroup - weights.size()), weights.size());
  return quotients.finish();
}

// The number of occurrences of each folded weight. Consecutive weights use different counters, so that equal weights do
// not serialize on one counter.
constexpr size_t kTurns = 4;

std::array<uint32_t, kFoldedValues> counts_of(std::span<const int16_t> weights) {
  static_assert(kMaxCounted <= UINT16_MAX);
  std::array<std::array<uint16_t, kFoldedValues>, kTurns> counts{};
  std::array<uint16_t, kGroup> folded;
  const auto fold_first = [&](size_t number) {
    for (size_t i = 0; i < number; ++i) folded[i] = static_cast<uint16_t>(fold(weights[i]));
  };
  for (; weights.size() >= kGroup; weights = weights.subspan(kGroup)) {
    fold_first(kGroup);
    for (size_t i = 0; i < kGroup; i += kTurns) {
      for (size_t turn = 0; turn < kTurns; ++turn) ++counts[turn][folded[i + turn]];
    }
  }
  fold_first(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) ++counts[0][folded[i]];
  std::array<uint32_t, kFoldedValues> sums;
  for (size_t f = 0; f < kFoldedValues; ++f) sums[f] = counts[0][f] + counts[1][f] + counts[2][f] + counts[3][f];
  return sums;
}

}  // namespace

ValueCounts Statistics::values() const {
  ValueCounts values{.zeros = count[0]};
  for (size_t f = 0; f < end; ++f) {
    values.values += count[f];
    if (count[f] != 0) values.present.set(static_cast<size_t>(unfold(static_cast<int>(f)) - kMinWeight));
  }
  return values;
}

Statistics statistics_of(std::span<const int16_t> weights) {
  CARINA_CHECK(weights.size() <= kMaxCounted, "{} weights", weights.size());
  Statistics statistics{.count = counts_of(weights), .run_bits = run_quotients(weights)};
  statistics.end = kFoldedValues;
  while (statistics.end > 0 && statistics.count[statistics.end - 1] == 0) --statistics.end;
  const uint64_t runs = weights.size() - statistics.count[0] + 1;  // before each nonzero weight, and after the last
  for (size_t d = 0; d < statistics.run_bits.size(); ++d) statistics.run_bits[d] += runs * (1 + d);
  return statistics;
}

}  // namespace carina::npu::swd
