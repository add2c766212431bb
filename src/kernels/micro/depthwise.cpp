#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/depthwise.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>

#include "kernels/micro/microkernels.h"

// Depthwise convolutions of int8 with 32-bit sums. A lane holds two taps of one channel as 16-bit halves, so that one
// instruction multiplies both and adds them.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Channels [from, to) of one pixel, one at a time.
void pixel_plain(const DepthwiseI8& job, const int8_t* const* x, int32_t* acc, int64_t from, int64_t to) {
  const int64_t row = padded(job.channels);
  for (int64_t c = from; c < to; ++c) {
    int32_t sum = 0;
    for (int64_t t = 0; t < job.taps; ++t) {
      const auto pair = static_cast<uint32_t>(job.packed[t / 2 * row + c]);
      sum += x[t][c] * static_cast<int16_t>(t % 2 == 0 ? pair & 0xFFFFU : pair >> 16);
    }
    acc[c] = sum;
  }
}

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

// Computes kVectors vectors of channels at a time. A lane holds two taps as its 16-bit halves.
template <int kVectors>
HWY_INLINE void channels_at(const DepthwiseI8& job, const int8_t* const* x, int32_t* acc, int64_t c) {
  const hn::ScalableTag<int32_t> d32;
  const hn::Repartition<int16_t, decltype(d32)> d16;
  const hn::Rebind<int8_t, decltype(d32)> d8;
  constexpr int64_t kWide = HWY_LANES(int32_t);
  const int64_t row = padded(job.channels);
  hn::Vec<decltype(d32)> sums[kVectors];
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d32);
  for (int64_t t = 0; t < job.taps; t += 2) {
    const int8_t* first = x[t] + c;
    const int8_t* second = x[t + 1 < job.taps ? t + 1 : t] + c;  // a last tap without a partner is paired with weight 0
    const int32_t* weights = job.packed + t / 2 * row + c;
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const auto low = hn::PromoteTo(d32, hn::LoadU(d8, first + v * kWide));
      const auto high = hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d8, second + v * kWide)));
      const auto both = hn::OddEven(hn::BitCast(d16, high), hn::BitCast(d16, low));
      auto unused = hn::Zero(d32);  // on x86 all products are added to the first sum
      sums[v] = hn::ReorderWidenMulAccumulate(d32, both, hn::BitCast(d16, hn::LoadU(d32, weights + v * kWide)), sums[v],
                                              unused);
    }
  }
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d32, acc + c + v * kWide);
}

// The same of two vectors of channels at a time. Bytes of both taps are interleaved before they become 16-bit halves,
// which takes two thirds of the instructions. Vectors of more than 32 bytes would interleave within their parts.
template <int kVectors>
HWY_INLINE void channels_in_twos(const DepthwiseI8& job, const int8_t* const* x, int32_t* acc, int64_t c) {
  static_assert(kVectors % 2 == 0);
  const hn::ScalableTag<int32_t> d32;
  const hn::Repartition<int16_t, decltype(d32)> d16;
  const hn::Rebind<int8_t, decltype(d16)> d8;
  constexpr int64_t kWide = HWY_LANES(int32_t);
  if constexpr (kWide > 8) {
    channels_at<kVectors>(job, x, acc, c);
  } else {
    const int64_t row = padded(job.channels);
    hn::Vec<decltype(d32)> sums[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d32);
    for (int64_t t = 0; t < job.taps; t += 2) {
      const int8_t* first = x[t] + c;
      const int8_t* second = x[t + 1 < job.taps ? t + 1 : t] + c;
      const int32_t* weights = job.packed + t / 2 * row + c;
      const auto add = [&](int v, auto taps) HWY_ATTR {
        auto unused = hn::Zero(d32);
        sums[v] = hn::ReorderWidenMulAccumulate(d32, hn::PromoteTo(d16, taps),
                                                hn::BitCast(d16, hn::LoadU(d32, weights + v * kWide)), sums[v], unused);
      };
      HWY_UNROLL(2)
      for (int v = 0; v < kVectors; v += 2) {
        const auto a = hn::LoadU(d8, first + v * kWide), b = hn::LoadU(d8, second + v * kWide);
        add(v, hn::InterleaveLower(d8, a, b));
        add(v + 1, hn::InterleaveUpper(d8, a, b));
      }
    }
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d32, acc + c + v * kWide);
  }
}

void depthwise_here(const DepthwiseI8& job) {
  constexpr int64_t kWide = HWY_LANES(int32_t);
  for (int64_t p = 0; p < job.pixels; ++p) {
    const int8_t* const* x = job.x + p * job.taps;
    int32_t* acc = job.acc + p * padded(job.channels);
    int64_t c = 0;
    for (; c + 4 * kWide <= job.channels; c += 4 * kWide) channels_in_twos<4>(job, x, acc, c);
    for (; c + kWide <= job.channels; c += kWide) channels_at<1>(job, x, acc, c);
    if (c == job.channels) continue;
    if (job.channels >= kWide) {
      channels_at<1>(job, x, acc, job.channels - kWide);
    } else {
      pixel_plain(job, x, acc, c, job.channels);
    }
  }
}

#else

void depthwise_here(const DepthwiseI8& job) {
  for (int64_t p = 0; p < job.pixels; ++p)
    pixel_plain(job, job.x + p * job.taps, job.acc + p * padded(job.channels), 0, job.channels);
}

#endif

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(depthwise_here);

void depthwise_i8(const DepthwiseI8& job) {
  HWY_DYNAMIC_DISPATCH(depthwise_here)(job);
}

void pack_depthwise(const int16_t* weights, int64_t taps, int64_t channels, int32_t* packed) {
  const int64_t row = padded(channels);
  std::fill_n(packed, pairs(taps) * row, 0);
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t c = 0; c < channels; ++c) {
      const auto half = static_cast<uint32_t>(static_cast<uint16_t>(weights[t * channels + c]));
      int32_t& pair = packed[t / 2 * row + c];
      pair = static_cast<int32_t>(static_cast<uint32_t>(pair) | (half << (t % 2 == 0 ? 0 : 16)));
    }
  }
}

}  // namespace carina::kernels
#endif
