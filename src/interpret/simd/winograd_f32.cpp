#include "interpret/simd/targets_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "interpret/simd/winograd_f32.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"
#include "interpret/simd/clamp_inl.h"
#include "interpret/simd/extremes_inl.h"

#include <algorithm>
#include <array>
#include <limits>

#include "interpret/simd/simd_internal.h"

HWY_BEFORE_NAMESPACE();
namespace carina::interpret::simd::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Products and sums are rounded one by one, in one order, on every target. Six places of a row or column at a time,
// from `in` to `out`, each `step` vectors after the last.
template <typename D>
HWY_INLINE void transform_six(D d, const float* HWY_RESTRICT const* in, int64_t at, float* HWY_RESTRICT out,
                              int64_t step) {
  const auto two = hn::Set(d, 2.0F), four = hn::Set(d, 4.0F), five = hn::Set(d, 5.0F);
  const auto d0 = hn::LoadU(d, in[0] + at), d1 = hn::LoadU(d, in[1] + at), d2 = hn::LoadU(d, in[2] + at);
  const auto d3 = hn::LoadU(d, in[3] + at), d4 = hn::LoadU(d, in[4] + at), d5 = hn::LoadU(d, in[5] + at);
  const auto even = hn::Sub(d4, hn::Mul(four, d2)), odd = hn::Sub(d3, hn::Mul(four, d1));
  const auto even2 = hn::Sub(d4, d2), odd2 = hn::Mul(two, hn::Sub(d3, d1));
  hn::StoreU(hn::Add(hn::Sub(hn::Mul(four, d0), hn::Mul(five, d2)), d4), d, out);
  hn::StoreU(hn::Add(even, odd), d, out + step);
  hn::StoreU(hn::Sub(even, odd), d, out + 2 * step);
  hn::StoreU(hn::Add(even2, odd2), d, out + 3 * step);
  hn::StoreU(hn::Sub(even2, odd2), d, out + 4 * step);
  hn::StoreU(hn::Add(hn::Sub(hn::Mul(four, d1), hn::Mul(five, d3)), d5), d, out + 5 * step);
}

void transform_here(const WinogradTile& job) {
  const hn::ScalableTag<float> d;
  const auto wide = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN float columns[36 * kLanes];  // [row of the transform][column of the tile]
  for (int64_t c = 0; c < job.channels; c += wide) {
    for (int64_t x = 0; x < 6; ++x) {
      const float* in[6];
      for (int64_t y = 0; y < 6; ++y) in[y] = job.x[y * 6 + x];
      transform_six(d, in, c, columns + x * wide, 6 * wide);
    }
    for (int64_t y = 0; y < 6; ++y) {
      const float* in[6];
      for (int64_t x = 0; x < 6; ++x) in[x] = columns + (y * 6 + x) * wide;
      transform_six(d, in, 0, job.out + y * 6 * job.stride + c, job.stride);
    }
  }
}

// Four results of six.
template <typename D, typename V = hn::Vec<D>>
HWY_INLINE void results_of(D d, V m0, V m1, V m2, V m3, V m4, V m5, V& y0, V& y1, V& y2, V& y3) {
  const auto sum = hn::Add(m1, m2), difference = hn::Sub(m1, m2);
  const auto sum2 = hn::Add(m3, m4), difference2 = hn::Sub(m3, m4);
  y0 = hn::Add(hn::Add(m0, sum), sum2);
  y1 = hn::Add(difference, hn::Mul(hn::Set(d, 2.0F), difference2));
  y2 = hn::Add(sum, hn::Mul(hn::Set(d, 4.0F), sum2));
  y3 = hn::Add(hn::Add(difference, hn::Mul(hn::Set(d, 8.0F), difference2)), m5);
}

void finish_winograd_here(const WinogradFinish& job) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto wide = static_cast<int64_t>(hn::Lanes(d));
  const V low = hn::Set(d, job.low), high = hn::Set(d, job.high);
  V least = hn::Set(d, std::numeric_limits<float>::infinity()), greatest = hn::Neg(least);
  auto not_numbers = hn::IsNaN(least);
  HWY_ALIGN float rows[24 * kLanes];  // [row of the result][column of the product]
  for (int64_t c = 0; c < job.channels; c += wide) {
    const auto load = [&](int64_t y, int64_t x)
                          HWY_ATTR { return hn::LoadU(d, job.products + (y * 6 + x) * job.stride + c); };
    V y0, y1, y2, y3;
    for (int64_t x = 0; x < 6; ++x) {
      results_of(d, load(0, x), load(1, x), load(2, x), load(3, x), load(4, x), load(5, x), y0, y1, y2, y3);
      hn::StoreU(y0, d, rows + x * wide);
      hn::StoreU(y1, d, rows + (6 + x) * wide);
      hn::StoreU(y2, d, rows + (12 + x) * wide);
      hn::StoreU(y3, d, rows + (18 + x) * wide);
    }
    const V bias = hn::LoadU(d, job.bias + c);
    const auto finish = [&](V value, float* to) HWY_ATTR {
      if (to == nullptr) return;
      value = clamp_vector(hn::Add(value, bias), low, high);
      see(value, least, greatest, not_numbers);
      hn::StoreU(value, d, to + c);
    };
    for (int64_t y = 0; y < 4; ++y) {
      const float* row = rows + y * 6 * wide;
      results_of(d, hn::LoadU(d, row), hn::LoadU(d, row + wide), hn::LoadU(d, row + 2 * wide),
                 hn::LoadU(d, row + 3 * wide), hn::LoadU(d, row + 4 * wide), hn::LoadU(d, row + 5 * wide), y0, y1, y2,
                 y3);
      finish(y0, job.out[y * 4]);
      finish(y1, job.out[y * 4 + 1]);
      finish(y2, job.out[y * 4 + 2]);
      finish(y3, job.out[y * 4 + 3]);
    }
  }
  if (job.extremes != nullptr) job.extremes->add(seen(d, least, greatest, not_numbers));
}

// Three weights of a row or column to six, each `step` floats after the last.
template <typename D, typename V = hn::Vec<D>>
HWY_INLINE void transform_three(D d, V w0, V w1, V w2, float* HWY_RESTRICT out, int64_t step) {
  const auto sixth = hn::Set(d, -1.0F / 6);
  const auto sum = hn::Add(w0, w2);
  const auto even = hn::Add(hn::Mul(hn::Set(d, 1.0F / 24), w0), hn::Mul(hn::Set(d, 1.0F / 6), w2));
  const auto odd = hn::Mul(hn::Set(d, 1.0F / 12), w1);
  hn::StoreU(hn::Mul(hn::Set(d, 0.25F), w0), d, out);
  hn::StoreU(hn::Mul(sixth, hn::Add(sum, w1)), d, out + step);
  hn::StoreU(hn::Mul(sixth, hn::Sub(sum, w1)), d, out + 2 * step);
  hn::StoreU(hn::Add(even, odd), d, out + 3 * step);
  hn::StoreU(hn::Sub(even, odd), d, out + 4 * step);
  hn::StoreU(w2, d, out + 5 * step);
}

void transform_weights_here(const float* HWY_RESTRICT weights, int64_t channels, float* HWY_RESTRICT out,
                            int64_t stride) {
  const hn::ScalableTag<float> d;
  const auto wide = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN float columns[18 * kLanes];  // [row of the transform][column of the window]
  for (int64_t c = 0; c < channels; c += wide) {
    const auto weight = [&](int64_t y, int64_t x)
                            HWY_ATTR { return hn::LoadU(d, weights + (y * 3 + x) * channels + c); };
    for (int64_t x = 0; x < 3; ++x)
      transform_three(d, weight(0, x), weight(1, x), weight(2, x), columns + x * wide, 3 * wide);
    for (int64_t y = 0; y < 6; ++y) {
      const float* row = columns + y * 3 * wide;
      transform_three(d, hn::LoadU(d, row), hn::LoadU(d, row + wide), hn::LoadU(d, row + 2 * wide),
                      out + y * 6 * stride + c, stride);
    }
  }
}

}  // namespace
}  // namespace carina::interpret::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::interpret::simd {

HWY_EXPORT(transform_here);
HWY_EXPORT(finish_winograd_here);
HWY_EXPORT(transform_weights_here);

void transform_winograd(const WinogradTile& job) {
  HWY_DYNAMIC_DISPATCH(transform_here)(job);
}
void finish_winograd(const WinogradFinish& job) {
  HWY_DYNAMIC_DISPATCH(finish_winograd_here)(job);
}

void transform_winograd_weights(const float* weights, int64_t channels, float* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(transform_weights_here)(weights, channels, out, stride);
}

}  // namespace carina::interpret::simd
#endif
