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

uint64_t zeros_among_here(std::span<const float> values) {
  const hn::ScalableTag<float> d;
  uint64_t zeros = 0;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= values.size(); i += hn::Lanes(d))
    zeros += hn::CountTrue(d, hn::Eq(hn::LoadU(d, values.data() + i), hn::Zero(d)));
  for (; i < values.size(); ++i) zeros += values[i] == 0 ? 1 : 0;
  return zeros;
}

// Adds kPixelsTogether pixels, and prefetches the next ones.
void add_together(const float* const* pixels, const float* const* next, size_t channels, double* sums) {
  size_t c = 0;
#if HWY_HAVE_FLOAT64
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  for (; c + hn::Lanes(wide) <= channels; c += hn::Lanes(wide)) {
    auto together = hn::Zero(narrow);
    for (size_t p = 0; p < kPixelsTogether; ++p) {
      if (next[p] != nullptr) __builtin_prefetch(next[p] + c);
      if (pixels[p] != nullptr) together = hn::Add(together, hn::LoadU(narrow, pixels[p] + c));
    }
    hn::StoreU(hn::Add(hn::LoadU(wide, sums + c), hn::PromoteTo(wide, together)), wide, sums + c);
  }
#endif
  for (; c < channels; ++c) {
    float together = 0;
    for (size_t p = 0; p < kPixelsTogether; ++p) together += pixels[p] == nullptr ? 0.0F : pixels[p][c];
    sums[c] += static_cast<double>(together);
  }
}

void add_pixels_here(std::span<const float* const> pixels, size_t channels, double* sums) {
  std::array<const float*, kPixelsTogether> now{}, next{};
  const auto take = [&](size_t first, std::array<const float*, kPixelsTogether>& to) {
    to.fill(nullptr);
    if (first < pixels.size())
      std::copy_n(pixels.begin() + static_cast<std::ptrdiff_t>(first), std::min(kPixelsTogether, pixels.size() - first),
                  to.begin());
  };
  take(0, now);
  for (size_t first = 0; first < pixels.size(); first += kPixelsTogether) {
    take(first + kPixelsTogether, next);
    add_together(now.data(), next.data(), channels, sums);
    now = next;
  }
}

void add_spreads_here(std::span<const float> values, size_t channels, float* lows, float* highs, float* squares) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t first = 0; first + channels <= values.size(); first += channels) {
    const float* const pixel = values.data() + first;
    size_t c = 0;
    for (; c + lanes <= channels; c += lanes) {
      const auto value = hn::LoadU(d, pixel + c), low = hn::LoadU(d, lows + c), high = hn::LoadU(d, highs + c);
      hn::StoreU(hn::IfThenElse(hn::Lt(value, low), value, low), d, lows + c);
      hn::StoreU(hn::IfThenElse(hn::Lt(high, value), value, high), d, highs + c);
      hn::StoreU(hn::Add(hn::LoadU(d, squares + c), hn::Mul(value, value)), d, squares + c);
    }
    for (; c < channels; ++c) {
      lows[c] = std::min(lows[c], pixel[c]);
      highs[c] = std::max(highs[c], pixel[c]);
      squares[c] += pixel[c] * pixel[c];
    }
  }
}

// Adds a block of rows to kSums rows of `products` from i on, in the columns up to the last of them.
template <size_t kSums>
void add_block(const float* block, size_t count, size_t stride, size_t i, float* products) {
  const hn::CappedTag<float, kRowGroup> d;
  for (size_t j = 0; j < i + kSums || j % kRowGroup != 0; j += hn::Lanes(d)) {
    hn::Vec<decltype(d)> sums[kSums];
    HWY_UNROLL(4)
    for (size_t s = 0; s < kSums; ++s) sums[s] = hn::LoadU(d, products + (i + s) * stride + j);
    for (const float* row = block; row != block + count * stride; row += stride) {
      const auto others = hn::LoadU(d, row + j);
      HWY_UNROLL(4)
      for (size_t s = 0; s < kSums; ++s) sums[s] = hn::Add(sums[s], hn::Mul(hn::Set(d, row[i + s]), others));
    }
    HWY_UNROLL(4)
    for (size_t s = 0; s < kSums; ++s) hn::StoreU(sums[s], d, products + (i + s) * stride + j);
  }
}

void add_outer_products_here(const float* rows, size_t count, size_t stride, size_t terms, float* products) {
  constexpr size_t kBlock = 16, kSums = 4;  // the block stays in the first cache
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t together = std::min(kBlock, count - first);
    size_t i = 0;
    for (; i + kSums <= terms; i += kSums) add_block<kSums>(rows + first * stride, together, stride, i, products);
    for (; i < terms; ++i) add_block<1>(rows + first * stride, together, stride, i, products);
  }
}

double dot_product_here(const double* a, const double* b, size_t count) {
  constexpr size_t kSums = 4;
  HWY_ALIGN std::array<double, kSums> sums{};
  size_t i = 0;
#if HWY_HAVE_FLOAT64
  const hn::CappedTag<double, kSums> d;
  const size_t lanes = hn::Lanes(d);  // 1, 2 or 4
  if (lanes == kSums) {
    auto all = hn::Zero(d);
    for (; i + kSums <= count; i += kSums) all = hn::Add(all, hn::Mul(hn::LoadU(d, a + i), hn::LoadU(d, b + i)));
    hn::StoreU(all, d, sums.data());
  } else {
    const hn::CappedTag<double, 2> half;
    auto low = hn::Zero(half), high = hn::Zero(half);
    if (hn::Lanes(half) == 2) {
      for (; i + kSums <= count; i += kSums) {
        low = hn::Add(low, hn::Mul(hn::LoadU(half, a + i), hn::LoadU(half, b + i)));
        high = hn::Add(high, hn::Mul(hn::LoadU(half, a + i + 2), hn::LoadU(half, b + i + 2)));
      }
      hn::StoreU(low, half, sums.data());
      hn::StoreU(high, half, sums.data() + 2);
    }
  }
#endif
  for (; i + kSums <= count; i += kSums) {
    for (size_t lane = 0; lane < kSums; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[1]) + sums[2]) + sums[3];
}

void add_scaled_here(double factor, const double* values, size_t count, double* sums) {
  size_t i = 0;
#if HWY_HAVE_FLOAT64
  const hn::ScalableTag<double> d;
  const auto factors = hn::Set(d, factor);
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    hn::StoreU(hn::Add(hn::LoadU(d, sums + i), hn::Mul(factors, hn::LoadU(d, values + i))), d, sums + i);
#endif
  for (; i < count; ++i) sums[i] += factor * values[i];
}

}  // namespace
}  // namespace carina::quantize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::quantize {

HWY_EXPORT(find_bins_here);
HWY_EXPORT(zeros_among_here);
HWY_EXPORT(add_pixels_here);
HWY_EXPORT(add_spreads_here);
HWY_EXPORT(add_outer_products_here);
HWY_EXPORT(dot_product_here);
HWY_EXPORT(add_scaled_here);

void find_bins(std::span<const float> values, double scale, double first, int32_t* indices) {
  HWY_DYNAMIC_DISPATCH(find_bins_here)(values.data(), values.size(), scale, first, indices);
}
uint64_t zeros_among(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(zeros_among_here)(values);
}
void add_pixels(std::span<const float* const> pixels, size_t channels, double* sums) {
  HWY_DYNAMIC_DISPATCH(add_pixels_here)(pixels, channels, sums);
}

void add_spreads(std::span<const float> values, size_t channels, float* lows, float* highs, float* squares) {
  HWY_DYNAMIC_DISPATCH(add_spreads_here)(values, channels, lows, highs, squares);
}

void add_outer_products(const float* rows, size_t count, size_t stride, size_t terms, float* products) {
  HWY_DYNAMIC_DISPATCH(add_outer_products_here)(rows, count, stride, terms, products);
}
double dot_product(const double* a, const double* b, size_t count) {
  return HWY_DYNAMIC_DISPATCH(dot_product_here)(a, b, count);
}
void add_scaled(double factor, std::span<const double> values, double* sums) {
  HWY_DYNAMIC_DISPATCH(add_scaled_here)(factor, values.data(), values.size(), sums);
}

}  // namespace carina::quantize
#endif
