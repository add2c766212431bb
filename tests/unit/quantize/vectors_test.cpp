#include "quantize/vectors_internal.h"

#include <gmock/gmock.h>
#include <hwy/highway.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

namespace carina::quantize {

namespace {

using testing::ElementsAreArray;

// Runs it once for each instruction set of this processor.
void on_each_target(const std::function<void()>& run) {
  for (int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    const testing::ScopedTrace trace(__FILE__, __LINE__, hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(rest);
    hwy::GetChosenTarget().Update(rest);
    run();
    hwy::SetSupportedTargetsForTest(0);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::vector<float> random_floats(size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> any(0, 3);
  std::vector<float> values(count);
  std::ranges::generate(values, [&] { return any(random); });
  return values;
}

TEST(Vectors, positions_of_values_match) {
  const std::vector<float> values = random_floats(1003);
  const double scale = 0x1.0000001p7, first = -5000;
  std::vector<int32_t> wanted;
  for (const float value : values) {
    const volatile double product = static_cast<double>(value) * scale;
    wanted.push_back(static_cast<int32_t>(product - first));
  }
  on_each_target([&] {
    std::vector<int32_t> indices(values.size());
    find_bins(values, scale, first, indices.data());
    EXPECT_THAT(indices, ElementsAreArray(wanted));
  });
}

TEST(Vectors, sums_of_pixels_match) {
  for (const size_t channels : {1, 3, 16, 37}) {
    const std::vector<float> image = random_floats(21 * channels);
    std::vector<const float*> pixels;
    for (size_t p = 0; p < 21; ++p) pixels.push_back(p % 5 == 2 ? nullptr : image.data() + p * channels);
    std::vector<double> wanted(channels, 0.25);
    for (size_t c = 0; c < channels; ++c) {
      for (size_t p = 0; p < pixels.size(); p += kPixelsTogether) {
        float together = 0;
        for (size_t i = p; i < std::min(p + kPixelsTogether, pixels.size()); ++i)
          together += pixels[i] == nullptr ? 0 : pixels[i][c];
        wanted[c] += static_cast<double>(together);
      }
    }
    on_each_target([&] {
      std::vector<double> sums(channels, 0.25);
      add_pixels(pixels, channels, sums.data());
      EXPECT_THAT(sums, ElementsAreArray(wanted));
    });
  }
}

// The order of additions is that of the rows, and products are rounded by themselves.
TEST(Vectors, sums_of_outer_products_match) {
  constexpr size_t kCount = 37, kTerms = 21, kStride = 2 * kRowGroup;
  std::vector<float> rows(kCount * kStride, 0);
  const std::vector<float> values = random_floats(kCount * kTerms);
  for (size_t r = 0; r < kCount; ++r) {
    for (size_t i = 0; i < kTerms; ++i) rows[r * kStride + i] = values[r * kTerms + i];
  }
  std::vector<float> wanted(kTerms * kTerms, 0.25F);
  for (size_t r = 0; r < kCount; ++r) {
    for (size_t i = 0; i < kTerms; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        const volatile float product = rows[r * kStride + i] * rows[r * kStride + j];
        wanted[i * kTerms + j] += product;
      }
    }
  }
  on_each_target([&] {
    std::vector<float> sums(kTerms * kStride, 0.25F);
    add_outer_products(rows.data(), kCount, kStride, kTerms, sums.data());
    for (size_t i = 0; i < kTerms; ++i) {
      for (size_t j = 0; j <= i; ++j) ASSERT_EQ(sums[i * kStride + j], wanted[i * kTerms + j]) << i << ' ' << j;
    }
  });
}

TEST(Vectors, scaled_sums_match) {
  const std::vector<float> floats = random_floats(101);
  const std::vector<double> values(floats.begin(), floats.end());
  std::vector<double> wanted(values.size(), 0.25);
  for (size_t i = 0; i < values.size(); ++i) {
    const volatile double product = 1.1 * values[i];
    wanted[i] += product;
  }
  on_each_target([&] {
    std::vector<double> sums(values.size(), 0.25);
    add_scaled(1.1, values, sums.data());
    EXPECT_THAT(sums, ElementsAreArray(wanted));
  });
}

// Element i belongs to sum i % 4, the rest to sum 0.
TEST(Vectors, dot_products_match) {
  for (const size_t count : {0, 3, 4, 101, 1024}) {
    const std::vector<float> floats = random_floats(2 * count);
    const std::vector<double> a(floats.begin(), floats.begin() + static_cast<std::ptrdiff_t>(count));
    const std::vector<double> b(floats.begin() + static_cast<std::ptrdiff_t>(count), floats.end());
    double sums[4] = {};
    for (size_t i = 0; i < count; ++i) {
      const volatile double product = a[i] * b[i];
      sums[i < count / 4 * 4 ? i % 4 : 0] += product;
    }
    const double wanted = ((sums[0] + sums[1]) + sums[2]) + sums[3];
    on_each_target([&] { EXPECT_EQ(dot_product(a.data(), b.data(), count), wanted) << count; });
  }
}

TEST(Vectors, spreads_of_channels_match) {
  for (const size_t channels : {1, 3, 16, 37}) {
    const std::vector<float> image = random_floats(21 * channels);
    std::vector<float> lows(channels, -0.5F), highs(channels, 0.5F), squares(channels, 0.25F);
    for (size_t i = 0; i < image.size(); ++i) {
      const size_t c = i % channels;
      lows[c] = std::min(lows[c], image[i]);
      highs[c] = std::max(highs[c], image[i]);
      const volatile float square = image[i] * image[i];
      squares[c] += square;
    }
    on_each_target([&] {
      std::vector<float> low(channels, -0.5F), high(channels, 0.5F), sums(channels, 0.25F);
      add_spreads(image, channels, low.data(), high.data(), sums.data());
      EXPECT_THAT(low, ElementsAreArray(lows));
      EXPECT_THAT(high, ElementsAreArray(highs));
      EXPECT_THAT(sums, ElementsAreArray(squares));
    });
  }
}

}  // namespace

}  // namespace carina::quantize
