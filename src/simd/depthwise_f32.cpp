#include "simd/targets_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/depthwise_f32.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"
#include "simd/clamp_inl.h"
#include "simd/extremes_inl.h"

#include <cmath>
#include <limits>

#include "simd/kernels.h"

// Depthwise convolutions of floats: a vector has channels of one pixel; taps are added in the order of the filter.
HWY_BEFORE_NAMESPACE();
namespace carina::simd::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Channels [from, to) of one pixel, one at a time.
void depthwise_plain(const DepthwiseF32& job, const float* const* x, float* out, int64_t from, int64_t to) {
  for (int64_t c = from; c < to; ++c) {
    float sum = 0;
    for (int64_t t = 0; t < job.taps; ++t) {
      if (x[t] != nullptr) sum = std::fma(x[t][c], job.weights[t * job.channels + c], sum);
    }
    out[c] = clamp_one(sum + job.bias[c], job.low, job.high);
    if (job.extremes != nullptr) job.extremes->add(seen(out[c]));
  }
}

#if HWY_NATIVE_FMA && !HWY_HAVE_SCALABLE

// kVectors vectors of channels of one pixel from `c` on.
template <bool kSees, int kVectors, typename V, typename M>
HWY_INLINE void depthwise_channels(const DepthwiseF32& job, const float* const* x, float* out, int64_t c, V& min,
                                   V& max, M& not_numbers) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kWide = HWY_LANES(float);
  const V low = hn::Set(d, job.low), high = hn::Set(d, job.high);
  V sums[kVectors];
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  const float* weights = job.weights + c;
  for (int64_t t = 0; t < job.taps; ++t, weights += job.channels) {
    if (x[t] == nullptr) continue;
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v)
      sums[v] = hn::MulAdd(hn::LoadU(d, x[t] + c + v * kWide), hn::LoadU(d, weights + v * kWide), sums[v]);
  }
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const V value = clamp_vector(hn::Add(sums[v], hn::LoadU(d, job.bias + c + v * kWide)), low, high);
    if constexpr (kSees) see(value, min, max, not_numbers);
    float* const to = out + c + v * kWide;
    job.streams ? hn::Stream(value, d, to) : hn::StoreU(value, d, to);
  }
}

template <bool kSees>
void depthwise_pixels(const DepthwiseF32& job) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kWide = HWY_LANES(float);
  auto min = hn::Set(d, std::numeric_limits<float>::infinity()), max = hn::Neg(min);
  auto not_numbers = hn::IsNaN(min);
  for (int64_t p = 0; p < job.pixels; ++p) {
    const float* const* x = job.x + p * job.taps;
    float* out = job.out + p * job.channels;
    int64_t c = 0;
    for (; c + 4 * kWide <= job.channels; c += 4 * kWide)
      depthwise_channels<kSees, 4>(job, x, out, c, min, max, not_numbers);
    for (; c + 2 * kWide <= job.channels; c += 2 * kWide)
      depthwise_channels<kSees, 2>(job, x, out, c, min, max, not_numbers);
    if (c + kWide <= job.channels) {
      depthwise_channels<kSees, 1>(job, x, out, c, min, max, not_numbers);
      c += kWide;
    }
    depthwise_plain(job, x, out, c, job.channels);
  }
  if constexpr (kSees) job.extremes->add(seen(d, min, max, not_numbers));
}

void depthwise_here(const DepthwiseF32& job) {
  job.extremes == nullptr ? depthwise_pixels<false>(job) : depthwise_pixels<true>(job);
}

#else

void depthwise_here(const DepthwiseF32& job) {
  for (int64_t p = 0; p < job.pixels; ++p)
    depthwise_plain(job, job.x + p * job.taps, job.out + p * job.channels, 0, job.channels);
}

#endif

}  // namespace
}  // namespace carina::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::simd {

HWY_EXPORT(depthwise_here);

void depthwise_f32(const DepthwiseF32& job) {
  HWY_DYNAMIC_DISPATCH(depthwise_here)(job);
}

}  // namespace carina::simd
#endif
