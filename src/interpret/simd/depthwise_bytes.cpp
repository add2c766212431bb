#include "interpret/simd/targets_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "interpret/simd/depthwise_bytes.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "interpret/simd/byte_vectors_inl.h"
#include "interpret/simd/simd_internal.h"

// Four taps at once: their bytes are interleaved, so that a lane of 32 bits has one channel's, and multiplied by VNNI. It
// takes unsigned by signed bytes: inputs are raised by 128, and 128 times the weights' sum is off the column already.

HWY_BEFORE_NAMESPACE();
namespace carina::interpret::simd::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3_DL

// One block of one pixel. `at`: its first channel; `quads`: its weights.
template <ByteRule kRule, class W>
HWY_INLINE void block_of(const DepthwiseBytes& d, const int8_t* const* x, int64_t at, const int8_t* quads,
                         int8_t* out) {
  using V = typename W::V;
  const auto mask = first_bytes<W>(d.channels() - at);
  const V flip = W::bytes(-128);
  V sums[4] = {W::longs(0), W::longs(0), W::longs(0), W::longs(0)};
  for (int64_t t = 0; t < d.taps(); t += 4, quads += 4 * W::kBytes) {
    const auto tap = [&](int64_t i) HWY_ATTR {  // those behind the last have weights of 0
      return W::flipped(W::load(mask, x[std::min(t + i, d.taps() - 1)] + at), flip);
    };
    const V a = tap(0), b = tap(1), c = tap(2), e = tap(3);
    const V low_ab = W::low8(a, b), high_ab = W::high8(a, b), low_ce = W::low8(c, e), high_ce = W::high8(c, e);
    sums[0] = W::dot(sums[0], W::low16(low_ab, low_ce), W::load(quads));
    sums[1] = W::dot(sums[1], W::high16(low_ab, low_ce), W::load(quads + W::kBytes));
    sums[2] = W::dot(sums[2], W::low16(high_ab, high_ce), W::load(quads + 2 * W::kBytes));
    sums[3] = W::dot(sums[3], W::high16(high_ab, high_ce), W::load(quads + 3 * W::kBytes));
  }
  HWY_UNROLL(4)
  for (int i = 0; i < 4; ++i)
    sums[i] = FinishVector<W>(d.finish(), at + i * W::kBytes / 4).template scaled<kRule>(sums[i]);
  W::store(mask, out + at, packed_bytes<W>(d.finish(), sums[0], sums[1], sums[2], sums[3]));
}

template <ByteRule kRule, class W>
void blocks_of(const DepthwiseBytes& d, const int8_t* const* x, int64_t pixels, int64_t at, int8_t* out) {
  const int8_t* quads = d.quads() + at * byte_quads(d.taps()) * 4;
  for (int64_t p = 0; p < pixels; ++p) block_of<kRule, W>(d, x + p * d.taps(), at, quads, out + p * d.channels());
}

template <ByteRule kRule>
void run_with(const DepthwiseBytes& d, const int8_t* const* x, int64_t pixels, int8_t* out) {
  for (int64_t at = 0; at < d.channels();) {
    const int64_t block = byte_block(d.channels() - at);
    if (block == 64) {
      blocks_of<kRule, Bytes64>(d, x, pixels, at, out);
    } else if (block == 32) {
      blocks_of<kRule, Bytes32>(d, x, pixels, at, out);
    } else {
      blocks_of<kRule, Bytes16>(d, x, pixels, at, out);
    }
    at += block;
  }
}

void run_here(const DepthwiseBytes& d, const int8_t* const* x, int64_t pixels, int8_t* out) {
  if (d.finish().rule == ByteRule::kRescale) return run_with<ByteRule::kRescale>(d, x, pixels, out);
  run_with<ByteRule::kRequantize>(d, x, pixels, out);
}

#else

void run_here(const DepthwiseBytes& d, const int8_t* const*, int64_t, int8_t*) {
  CARINA_UNREACHABLE("bytes of sums on a target without them, channels", d.channels());
}

#endif

}  // namespace
}  // namespace carina::interpret::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::interpret::simd {

HWY_EXPORT(run_here);

namespace {

// The channel, counted from the block's first, that stands at place `place` of the block's sums: vector i of four has in
// its 16 bytes j the channels 16 j + 4 i to 16 j + 4 i + 3.
int64_t order_in_block(int64_t place, int64_t block) {
  const int64_t lanes = block / 4, vector = place / lanes, lane = place % lanes;
  return 16 * (lane / 4) + 4 * vector + lane % 4;
}

// Calls use(place, channel) for all places, with -1 for those without a channel.
template <typename Use>
void for_each_place(int64_t channels, const Use& use) {
  for (int64_t at = 0; at < channels;) {
    const int64_t block = byte_block(channels - at);
    for (int64_t place = 0; place < block; ++place) {
      const int64_t channel = at + order_in_block(place, block);
      use(at + place, channel < channels ? channel : -1);
    }
    at += block;
  }
}

}  // namespace

DepthwiseBytes::DepthwiseBytes(const int16_t* weights, int64_t taps, int64_t channels, const ByteFinish& finish)
    : taps_(taps),
      channels_(channels),
      quads_(static_cast<size_t>(byte_padded(channels) * byte_quads(taps) * 4), 0),
      finish_(channels) {
  finish_.rule = finish.rule;
  finish_.zero_point = finish.zero_point;
  finish_.low = finish.low;
  finish_.high = finish.high;
  for_each_place(channels, [&](int64_t place, int64_t channel) {
    if (channel < 0) return;
    const auto to = static_cast<size_t>(place), from = static_cast<size_t>(channel);
    int64_t sum = 0;
    for (int64_t t = 0; t < taps; ++t) sum += weights[t * channels + channel];
    finish_.column[to] = static_cast<int32_t>(finish.column[from] - 128 * sum);  // modulo 2^32, as sums are
    finish_.multiplier[to] = finish.multiplier[from];
    finish_.addend[to] = finish.addend[from];
    finish_.shift[to] = finish.shift[from];
  });
  int64_t first = 0;  // of the block
  for_each_place(channels, [&](int64_t place, int64_t channel) {
    const int64_t block = byte_block(channels - first);
    for (int64_t t = 0; t < taps && channel >= 0; ++t) {
      const int64_t quad = first * byte_quads(taps) * 4 + t / 4 * block * 4;
      quads_[static_cast<size_t>(quad + (place - first) * 4 + t % 4)] =
          static_cast<int8_t>(weights[t * channels + channel]);
    }
    if (place + 1 == first + block) first += block;
  });
}

bool DepthwiseBytes::takes(const int16_t* weights, int64_t count) {
  return kernels_make_bytes() && std::all_of(weights, weights + count, [](int16_t w) {
           return w >= std::numeric_limits<int8_t>::min() && w <= std::numeric_limits<int8_t>::max();
         });
}

void DepthwiseBytes::run(const int8_t* const* x, int64_t pixels, int8_t* out) const {
  HWY_DYNAMIC_DISPATCH(run_here)(*this, x, pixels, out);
}

}  // namespace carina::interpret::simd
#endif
