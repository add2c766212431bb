#include "kernels/micro/dot_targets_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/depthwise_bytes.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <limits>

#include "carina/check.h"
#include "kernels/micro/byte_vectors_inl.h"
#include "kernels/micro/microkernels.h"

// Multiplies four taps at a time with VNNI. Their bytes are interleaved, so that a lane of 32 bits holds four taps of
// one channel. VNNI multiplies unsigned by signed bytes: 128 is added to the inputs, and the epilogue's column already
// has 128 times the sum of the weights subtracted.

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3_DL

// The bytes of four taps, interleaved. The lanes of vector i hold the i-th group of channels in the order of the block.
template <class W>
struct Quad {
  typename W::V v[4];

  HWY_INLINE Quad(typename W::V a, typename W::V b, typename W::V c, typename W::V d) {
    const auto low_ab = W::low8(a, b), high_ab = W::high8(a, b), low_cd = W::low8(c, d), high_cd = W::high8(c, d);
    v[0] = W::low16(low_ab, low_cd);
    v[1] = W::high16(low_ab, low_cd);
    v[2] = W::low16(high_ab, high_cd);
    v[3] = W::high16(high_ab, high_cd);
  }
};

template <class W>
struct Sums {
  typename W::V v[4];

  HWY_INLINE Sums() : v{W::longs(0), W::longs(0), W::longs(0), W::longs(0)} {}
  HWY_INLINE void add(const Quad<W>& quad, const int8_t* weights) {
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) v[i] = W::dot(v[i], quad.v[i], W::load(weights + i * W::kBytes));
  }
};

// One block of channels of a call. `at` is its first channel.
template <ByteRule kRule, class W>
struct Block {
  using V = typename W::V;
  const DepthwiseBytes& d;
  int64_t at;
  typename W::Mask mask;
  const int8_t* weights;

  HWY_INLINE Block(const DepthwiseBytes& depthwise, int64_t first)
      : d(depthwise), at(first), mask(first_bytes<W>(d.channels() - at)), weights(d.quads(at)) {}

  HWY_INLINE V tap(const int8_t* x) const { return W::flipped(W::load(mask, x + at), W::bytes(-128)); }

  HWY_INLINE void write(const Sums<W>& sums, int8_t* out) const {
    V scaled[4];
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i)
      scaled[i] = EpilogueVector<W>(d.epilogue(), at + i * W::kBytes / 4).template scaled<kRule>(sums.v[i]);
    W::store(mask, out + at, packed_bytes<W>(d.epilogue(), scaled[0], scaled[1], scaled[2], scaled[3]));
  }

  // Computes windows of any size.
  HWY_INLINE void by_taps(const int8_t* const* x, int64_t pixels, int8_t* out) const {
    const int64_t taps = d.window().taps();
    for (int64_t p = 0; p < pixels; ++p, x += taps, out += d.channels()) {
      Sums<W> sums;
      for (int64_t t = 0; t < taps; t += 4) {
        const auto any = [&](int64_t i)
            // taps beyond the last have weight 0
            HWY_ATTR { return tap(x[std::min(t + i, taps - 1)]); };
        sums.add(Quad<W>(any(0), any(1), any(2), any(3)), weights + t * W::kBytes);
      }
      write(sums, out);
    }
  }

  // Loads one column of up to four taps.
  HWY_INLINE Quad<W> column(const int8_t* const* x) const {
    const int64_t last = d.window().height - 1;
    const V first = tap(x[0]);
    return {first, tap(x[std::min<int64_t>(1, last)]), tap(x[std::min<int64_t>(2, last)]),
            last == 3 ? tap(x[3]) : first};  // taps beyond the last have weight 0
  }

  // Computes windows of three columns. The columns that the next pixel shares stay in registers.
  HWY_INLINE void by_columns(const int8_t* const* x, int64_t pixels, int8_t* out) const {
    const int64_t height = d.window().height, stride = d.window().stride_x;
    Quad<W> left = column(x), middle = column(x + height);
    for (int64_t p = 0; p < pixels; ++p, out += d.channels()) {
      x += 2 * height;
      const Quad<W> right = column(x);
      Sums<W> sums;
      sums.add(left, weights);
      sums.add(middle, weights + 4 * W::kBytes);
      sums.add(right, weights + 8 * W::kBytes);
      write(sums, out);
      if (stride == 1) {
        left = middle;
        middle = right;
        x -= height;
      } else {
        left = right;
        if (p + 1 < pixels) middle = column(x + height);
      }
    }
  }
};

template <ByteRule kRule, class W>
void run_block(const DepthwiseBytes& d, const int8_t* const* x, int64_t pixels, int64_t at, int8_t* out) {
  const Block<kRule, W> block(d, at);
  d.by_columns() ? block.by_columns(x, pixels, out) : block.by_taps(x, pixels, out);
}

template <ByteRule kRule>
void run_with(const DepthwiseBytes& d, const int8_t* const* x, int64_t pixels, int8_t* out) {
  for (int64_t at = 0; at < d.channels();) {
    const int64_t block = byte_block(d.channels() - at);
    if (block == 64) {
      run_block<kRule, Bytes64>(d, x, pixels, at, out);
    } else if (block == 32) {
      run_block<kRule, Bytes32>(d, x, pixels, at, out);
    } else {
      run_block<kRule, Bytes16>(d, x, pixels, at, out);
    }
    at += block;
  }
}

void run_here(const DepthwiseBytes& d, const int8_t* const* x, int64_t pixels, int8_t* out) {
  if (d.epilogue().rule == ByteRule::kRescale) return run_with<ByteRule::kRescale>(d, x, pixels, out);
  run_with<ByteRule::kRequantize>(d, x, pixels, out);
}

#else

void run_here(const DepthwiseBytes& d, const int8_t* const*, int64_t, int8_t*) {
  CARINA_UNREACHABLE("bytes of sums on a target without them, channels", d.channels());
}

#endif

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(run_here);

namespace {

// The channel at position `position` of a block's sums, counted from the first channel of the block. Bytes 16 j to 16 j
// + 15 of vector i hold the channels 16 j + 4 i to 16 j + 4 i + 3, four bytes each.
int64_t order_in_block(int64_t position, int64_t block) {
  const int64_t lanes = block / 4, vector = position / lanes, lane = position % lanes;
  return 16 * (lane / 4) + 4 * vector + lane % 4;
}

// A channel's position in the order of vectors.
struct ChannelPosition {
  int64_t block;  // first channel of the block
  int64_t size;   // number of channels of the block
  int64_t at;     // position within the block
  int64_t channel;
};
template <typename Use>
void for_each_channel(int64_t channels, const Use& use) {
  int64_t size = 0;
  for (int64_t block = 0; block < channels; block += size) {
    size = byte_block(channels - block);
    for (int64_t at = 0; at < size; ++at) {
      const int64_t channel = block + order_in_block(at, size);
      if (channel < channels) use(ChannelPosition{.block = block, .size = size, .at = at, .channel = channel});
    }
  }
}

}  // namespace

DepthwiseBytes::DepthwiseBytes(const Window& window, int64_t channels, const int16_t* weights,
                               const Int8Epilogue& epilogue)
    : window_(window),
      channels_(channels),
      by_columns_(window.width == 3 && window.height <= 4 && window.dilation_x == 1 && window.stride_x <= 2),
      quad_count_(by_columns_ ? window.width : (window.taps() + 3) / 4),
      quads_(static_cast<size_t>(byte_padded(channels) * quad_count_ * 4), 0),
      epilogue_(channels) {
  epilogue_.rule = epilogue.rule;
  epilogue_.zero_point = epilogue.zero_point;
  epilogue_.low = epilogue.low;
  epilogue_.high = epilogue.high;
  for_each_channel(channels, [&](const ChannelPosition& position) {
    const auto to = static_cast<size_t>(position.block + position.at), from = static_cast<size_t>(position.channel);
    int64_t sum = 0;
    for (int64_t t = 0; t < window.taps(); ++t) {
      const int16_t weight = weights[t * channels + position.channel];
      const int64_t quad = by_columns_ ? t % window.width : t / 4;
      const int64_t byte = by_columns_ ? t / window.width : t % 4;
      quads_[static_cast<size_t>(position.block * quad_count_ * 4 + (quad * position.size + position.at) * 4 + byte)] =
          static_cast<int8_t>(weight);
      sum += weight;
    }
    epilogue_.column[to] = static_cast<int32_t>(epilogue.column[from] - 128 * sum);  // modulo 2^32, as sums are
    epilogue_.multiplier[to] = epilogue.multiplier[from];
    epilogue_.addend[to] = epilogue.addend[from];
    epilogue_.shift[to] = epilogue.shift[from];
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

}  // namespace carina::kernels
#endif
