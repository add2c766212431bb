#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/depthwise_f32.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"
#include "kernels/micro/clamp_inl.h"
#include "kernels/micro/extremes_inl.h"

#include <cmath>
#include <limits>

#include "kernels/micro/microkernels.h"

// Depthwise convolutions of floats: a vector has channels of one pixel; taps are added in the order of the filter.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
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

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kWide = HWY_LANES(float);
constexpr bool kManyRegisters = kWide != 8;  // 32 registers; AVX2 has 16

// The extremes of what is written, by lane.
struct Seen {
  V min, max;
  hn::Mask<D> not_numbers;
};

// kVectors vectors of channels of kPixels pixels from `c` on. The pixels share each load of weights.
template <bool kSees, int kPixels, int kVectors>
HWY_INLINE void depthwise_channels(const DepthwiseF32& job, const float* const* x, float* out, int64_t c, Seen& seen) {
  const D d;
  V sums[kPixels][kVectors];
  HWY_UNROLL(4)
  for (int p = 0; p < kPixels; ++p) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[p][v] = hn::Zero(d);
  }
  const float* from = job.weights + c;
  for (int64_t t = 0; t < job.taps; ++t, from += job.channels) {
    V weights[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) weights[v] = hn::LoadU(d, from + v * kWide);
    HWY_UNROLL(4)
    for (int p = 0; p < kPixels; ++p) {
      const float* in = x[p * job.taps + t];
      if (in == nullptr) continue;
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v)
        sums[p][v] = hn::MulAdd(hn::LoadU(d, in + c + v * kWide), weights[v], sums[p][v]);
    }
  }
  const V low = hn::Set(d, job.low), high = hn::Set(d, job.high);
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const V bias = hn::LoadU(d, job.bias + c + v * kWide);
    HWY_UNROLL(4)
    for (int p = 0; p < kPixels; ++p) {
      const V value = clamp_vector(hn::Add(sums[p][v], bias), low, high);
      if constexpr (kSees) see(value, seen.min, seen.max, seen.not_numbers);
      float* const to = out + p * job.channels + c + v * kWide;
      job.streams ? hn::Stream(value, d, to) : hn::StoreU(value, d, to);
    }
  }
}

template <bool kSees, int kPixels>
HWY_INLINE void depthwise_pixels(const DepthwiseF32& job, int64_t pixel, Seen& seen) {
  constexpr int kMost = kManyRegisters || kPixels == 1 ? 4 : 2;
  const float* const* x = job.x + pixel * job.taps;
  float* out = job.out + pixel * job.channels;
  int64_t c = 0;
  for (; c + kMost * kWide <= job.channels; c += kMost * kWide)
    depthwise_channels<kSees, kPixels, kMost>(job, x, out, c, seen);
  if (kMost > 2 && c + 2 * kWide <= job.channels) {
    depthwise_channels<kSees, kPixels, 2>(job, x, out, c, seen);
    c += 2 * kWide;
  }
  if (c + kWide <= job.channels) {
    depthwise_channels<kSees, kPixels, 1>(job, x, out, c, seen);
    c += kWide;
  }
  for (int p = 0; p < kPixels; ++p) depthwise_plain(job, x + p * job.taps, out + p * job.channels, c, job.channels);
}

template <bool kSees>
void depthwise_row(const DepthwiseF32& job) {
  const D d;
  constexpr int kTogether = 4;
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  Seen all{.min = infinity, .max = hn::Neg(infinity), .not_numbers = hn::IsNaN(infinity)};
  int64_t p = 0;
  for (; p + kTogether <= job.pixels; p += kTogether) depthwise_pixels<kSees, kTogether>(job, p, all);
  for (; p < job.pixels; ++p) depthwise_pixels<kSees, 1>(job, p, all);
  if constexpr (kSees) job.extremes->add(seen(d, all.min, all.max, all.not_numbers));
}

void depthwise_here(const DepthwiseF32& job) {
  job.extremes == nullptr ? depthwise_row<false>(job) : depthwise_row<true>(job);
}

#else

void depthwise_here(const DepthwiseF32& job) {
  for (int64_t p = 0; p < job.pixels; ++p)
    depthwise_plain(job, job.x + p * job.taps, job.out + p * job.channels, 0, job.channels);
}

#endif

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(depthwise_here);

void depthwise_f32(const DepthwiseF32& job) {
  HWY_DYNAMIC_DISPATCH(depthwise_here)(job);
}

}  // namespace carina::kernels
#endif
