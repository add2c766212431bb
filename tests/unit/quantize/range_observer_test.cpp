#include "quantize/range_observer_internal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace carina::quantize {
namespace {

constexpr size_t kEnough = 16'384;

// [pixels, channels]. The width of the distribution differs per channel and per column of the image.
std::vector<float> image(size_t pixels, size_t channels, size_t columns) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> elements;
  for (size_t i = 0; i < pixels * channels; ++i) {
    const float width = 1.0F + static_cast<float>(i % channels % 5) + static_cast<float>(i / channels % columns % 3);
    elements.push_back(std::max(0.0F, width * normal(random)));
  }
  return elements;
}

struct Both {
  RangeObserver all, lattice;
};
Both observed(const std::vector<float>& elements) {
  Both both;
  EXPECT_TRUE(both.all.observe(elements));
  EXPECT_TRUE(both.lattice.observe(elements, kernels::extremes_of(elements), kEnough));
  return both;
}

constexpr int64_t kSteps = 255;

// The square error of non-negative elements that are rounded to kSteps steps up to the end of the range. The weight of
// clipped elements depends on the choice.
double noise(const std::vector<float>& elements, const Range& range, RangeChoice choice) {
  const double clipping = choice == RangeChoice::kHistogram ? 2 : 1;
  const double scale = range.max / static_cast<double>(kSteps);
  double sum = 0;
  for (const float element : elements) {
    const double exact = static_cast<double>(element);
    const double error = std::min(std::round(exact / scale), static_cast<double>(kSteps)) * scale - exact;
    sum += (exact > range.max ? clipping : 1) * error * error;
  }
  return sum;
}

// Samples as many elements as calibration does: a million from all samples together.
TEST(RangeObserver, sampling_changes_range_little) {
  constexpr size_t kSamples = 16;
  for (const size_t channels : {3, 96, 160}) {
    Both both;
    const std::vector<float> elements = image(600'000 / channels, channels, 112);
    for (size_t sample = 0; sample < kSamples; ++sample) {
      std::vector<float> other = elements;
      std::ranges::rotate(other, other.begin() + static_cast<std::ptrdiff_t>(sample * 101 * channels));
      EXPECT_TRUE(both.all.observe(other));
      EXPECT_TRUE(both.lattice.observe(other, kernels::extremes_of(other), (size_t{1} << 20) / kSamples));
    }
    for (const RangeChoice choice : {RangeChoice::kHistogram, RangeChoice::kSquareError, RangeChoice::kPercentile}) {
      // A percentile is not at the minimum of the noise, so a shift of the range changes the noise more: 0.4 dB.
      const double tolerance = choice == RangeChoice::kPercentile ? 0.1 : 0.05;
      const double all = noise(elements, both.all.choose(choice, kSteps), choice);
      const double some = noise(elements, both.lattice.choose(choice, kSteps), choice);
      EXPECT_NEAR(some, all, tolerance * all) << channels;
    }
  }
}

TEST(RangeObserver, elements_below_a_limit_are_counted) {
  const std::vector<float> elements = image(6'000, 96, 112);  // enough to be counted in part
  const auto below = [&](float limit) {
    return static_cast<double>(std::ranges::count_if(elements, [&](float x) { return x != 0 && x < limit; }));
  };
  const Both both = observed(elements);
  for (const float limit : {0.1F, 1.0F, 100.0F})
    EXPECT_NEAR(both.all.count_below(limit), below(limit), 0.02 * below(limit));
  EXPECT_NEAR(both.lattice.count_below(1), below(1), 0.05 * below(1));
}

TEST(RangeObserver, extremes_cover_all_elements) {
  std::vector<float> elements = image(100'000, 16, 100);
  elements[777'777] = 1000;
  elements[777'779] = -50;
  const Both both = observed(elements);
  const Range range = both.lattice.choose(RangeChoice::kMinMax, kSteps);
  EXPECT_EQ(range.min, -50);
  EXPECT_EQ(range.max, 1000);
}

TEST(RangeObserver, single_outlier_is_recognized) {
  std::vector<float> elements = image(100'000, 16, 100);
  elements[777'777] = -1e9F;
  const Both both = observed(elements);
  EXPECT_TRUE(both.all.is_swamped());
  EXPECT_TRUE(both.lattice.is_swamped());
}

TEST(RangeObserver, two_numbers_are_not_swamped) {
  const std::vector<float> ones{0, 1, 1, 0, 1}, signs{-1, 1, 1, -1, 1};
  for (const std::vector<float>& elements : {ones, signs}) {
    RangeObserver observer;
    EXPECT_TRUE(observer.observe(elements));
    EXPECT_FALSE(observer.is_swamped()) << elements.front();
  }
  RangeObserver masked;
  EXPECT_TRUE(masked.observe(std::vector<float>{-1e9F, 1, 2, 3, -1}));
  EXPECT_TRUE(masked.is_swamped());
}

TEST(RangeObserver, few_elements_are_all_counted) {
  const std::vector<float> elements = image(kEnough / 16, 16, 32);
  const Both both = observed(elements);
  const Range all = both.all.choose(RangeChoice::kHistogram, kSteps),
              some = both.lattice.choose(RangeChoice::kHistogram, kSteps);
  EXPECT_EQ(some.max, all.max);
}

}  // namespace
}  // namespace carina::quantize
