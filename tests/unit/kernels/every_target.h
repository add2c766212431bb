#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <random>
#include <span>
#include <vector>

namespace carina::kernels::testing {

// Runs `function` once for each instruction set that this processor can run.
template <typename Function>
void on_every_target(const Function& function) {
  for (int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    hwy::SetSupportedTargetsForTest(rest);
    hwy::GetChosenTarget().Update(rest);
    SCOPED_TRACE(hwy::TargetName(target));
    function();
    hwy::SetSupportedTargetsForTest(0);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Numbers between margins of NaN. A read outside the numbers makes the sum NaN; expect_margins() finds a write outside
// them.
class Guarded {
 public:
  explicit Guarded(int64_t count) : values_(static_cast<size_t>(count + 2 * kMargin), std::nanf("")) {}
  Guarded(int64_t count, std::mt19937& random) : Guarded(count) {
    std::normal_distribution<float> any;
    for (float& value : numbers()) value = any(random);
  }
  [[nodiscard]] float* data() { return values_.data() + kMargin; }
  [[nodiscard]] std::span<float> numbers() { return std::span(values_).subspan(kMargin, values_.size() - 2 * kMargin); }
  void expect_margins() const {
    for (size_t i = 0; i < kMargin; ++i)
      ASSERT_TRUE(std::isnan(values_[i]) && std::isnan(values_[values_.size() - 1 - i])) << i;
  }

 private:
  static constexpr size_t kMargin = 64;
  std::vector<float> values_;
};

// The clamp that follows a sum, as in BoundsF32.
struct Limits {
  float low = -1.5F, high = 2.5F;
  [[nodiscard]] float of(float value) const { return value < low ? low : value > high ? high : value; }
};

inline void expect_bits(std::span<const float> wanted, std::span<const float> got) {
  ASSERT_EQ(wanted.size(), got.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(wanted[i]), std::bit_cast<uint32_t>(got[i]))
        << i << ": " << wanted[i] << ' ' << got[i];
}

}  // namespace carina::kernels::testing
