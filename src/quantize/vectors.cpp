#include "quantize/vectors_internal.h"

// Vectors whose length is known only at run time (SVE) are disabled, as in all libraries; NEON is used instead.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantize/vectors.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <array>

HWY_BEFORE_NAMESPACE();
namespace carina::quantize::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void find_bins_here(const float* values, size_t count, double scale, double first, int32_t* indices) {
  size_t i = 0;
#if HWY_HAVE_FLOAT64
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  const hn::Rebind<int32_t, decltype(wide)> integers;
  const auto scales = hn::Set(wide, scale), firsts = hn::Set(wide, first);
  for (; i + hn::Lanes(wide) <= count; i += hn::Lanes(wide)) {
    const auto value = hn::PromoteTo(wide, hn::LoadU(narrow, values + i));
    hn::StoreU(hn::DemoteTo(integers, hn::Sub(hn::Mul(value, scales), firsts)), integers, indices + i);
  }
#endif
  for (; i < count; ++i) indices[i] = static_cast<int32_t>(static_cast<double>(values[i]) * scale - first);
}

// Adds kTogether pixels, and prefetches the next ones.
void add_together(const float* const* pixels, const float* const* next, size_t channels, double* sums) {
  size_t c = 0;
#if HWY_HAVE_FLOAT64
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  for (; c + hn::Lanes(wide) <= channels; c += hn::Lanes(wide)) {
    auto together = hn::Zero(narrow);
    for (size_t p = 0; p < kTogether; ++p) {
      if (next[p] != nullptr) __builtin_prefetch(next[p] + c);
      if (pixels[p] != nullptr) together = hn::Add(together, hn::LoadU(narrow, pixels[p] + c));
    }
    hn::StoreU(hn::Add(hn::LoadU(wide, sums + c), hn::PromoteTo(wide, together)), wide, sums + c);
  }
#endif
  for (; c < channels; ++c) {
    float together = 0;
    for (size_t p = 0; p < kTogether; ++p) together += pixels[p] == nullptr ? 0.0F : pixels[p][c];
    sums[c] += static_cast<double>(together);
  }
}

void add_pixels_here(std::span<const float* const> pixels, size_t channels, double* sums) {
  std::array<const float*, kTogether> now{}, next{};
  const auto take = [&](size_t first, std::array<const float*, kTogether>& to) {
    to.fill(nullptr);
    if (first < pixels.size())
      std::copy_n(pixels.begin() + static_cast<std::ptrdiff_t>(first), std::min(kTogether, pixels.size() - first),
                  to.begin());
  };
  take(0, now);
  for (size_t first = 0; first < pixels.size(); first += kTogether) {
    take(first + kTogether, next);
    add_together(now.data(), next.data(), channels, sums);
    now = next;
  }
}

}  // namespace
}  // namespace carina::quantize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::quantize {

HWY_EXPORT(find_bins_here);
HWY_EXPORT(add_pixels_here);

void find_bins(std::span<const float> values, double scale, double first, int32_t* indices) {
  HWY_DYNAMIC_DISPATCH(find_bins_here)(values.data(), values.size(), scale, first, indices);
}
void add_pixels(std::span<const float* const> pixels, size_t channels, double* sums) {
  HWY_DYNAMIC_DISPATCH(add_pixels_here)(pixels, channels, sums);
}

}  // namespace carina::quantize
#endif
