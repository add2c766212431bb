#include "accelerate/targets_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "accelerate/depthwise_threes.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "accelerate/depthwise_threes_internal.h"
#include "accelerate/tail_inl.h"

HWY_BEFORE_NAMESPACE();
namespace carina::accelerate::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

struct Channel {
  const Depthwise& job;
  const float* in;
  const float* weights;
  float* out;
  float scale, shift;

  Channel(const Depthwise& all, int64_t c)
      : job(all),
        in(all.in + (all.skipped + c) / all.of_one_input * all.plane.in_elems()),
        weights(all.weights + c * all.plane.taps()),
        out(all.out + c * all.plane.out_elems()),
        scale(all.scale[c]),
        shift(all.shift[c]) {}
};

// Targets without a vector FMA call the C library's fma(), which is slow there but exact everywhere.
#if HWY_NATIVE_FMA && !HWY_HAVE_SCALABLE

// The operands of a channel's sums with 3 x 3 taps, in registers if there are enough.
struct Threes {
  hn::Vec<hn::ScalableTag<float>> weights[kSide * kSide], scale, shift, low, high;
};

// The start of an input vector in its row, and the lanes that are inside of the row.
struct Span {
  int64_t column;
  size_t first, end;
  Span(const Plane& p, int64_t at) : column(at), first(lane(-at)), end(lane(p.width - at)) {}
  static size_t lane(int64_t of) { return static_cast<size_t>(std::clamp<int64_t>(of, 0, HWY_LANES(float))); }
};

// The input vectors for outputs at x: one per column of taps, or two of which every other lane is used.
struct Reads {
  int64_t x;
  Span low[kSide], high[kSide];
  Reads(const Plane& p, int64_t at)
      : x(at),
        low{{p, column(p, at, 0)}, {p, column(p, at, 1)}, {p, column(p, at, 2)}},
        high{{p, next(p, at, 0)}, {p, next(p, at, 1)}, {p, next(p, at, 2)}} {}
  static int64_t column(const Plane& p, int64_t at, int64_t kx) { return at * p.stride_x + kx - p.padding_x; }
  static int64_t next(const Plane& p, int64_t at, int64_t kx) { return column(p, at, kx) + HWY_LANES(float); }
};

template <int kStep>
struct Masks {
  using Inside = LanesInside<hn::ScalableTag<float>>;
  static HWY_INLINE Inside inside(const Span& span) { return {{}, span.first, span.end}; }
  Inside low[kSide], high[kSide];
  HWY_INLINE explicit Masks(const Reads& reads)
      : low{inside(reads.low[0]), inside(reads.low[1]), inside(reads.low[2])},
        high{inside(reads.high[0]), inside(reads.high[1]), inside(reads.high[2])} {}
  HWY_INLINE hn::Vec<hn::ScalableTag<float>> load(const Reads& reads, const float* row, int kx) const {
    const hn::ScalableTag<float> d;
    const auto first = low[kx].load(d, row + reads.low[kx].column);
    if constexpr (kStep == 1) return first;
    return hn::ConcatEven(d, high[kx].load(d, row + reads.high[kx].column), first);
  }
};

// Whether all input rows are inside of the image, or some are zeros at its edges.
enum class Rows : uint8_t { kInside, kAtEdges };

// Computes one vector of kRows rows from y on. Each input vector is read once for all sums that use it.
template <int kRows, int kStep, Rows kWhere>
HWY_INLINE void threes(const Channel& channel, const Threes& own, const Reads& reads, int64_t y) {
  const hn::ScalableTag<float> d;
  const Plane& p = channel.job.plane;
  const int64_t first = y * kStep - p.padding_y, width = p.width, out_width = p.out_width;
  const Masks<kStep> masks(reads);
  const float* row = channel.in + first * width;
  hn::Vec<decltype(d)> sums[kRows];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) sums[r] = hn::Zero(d);
  HWY_UNROLL(16)
  for (int i = 0; i < (kRows - 1) * kStep + kSide; ++i, row += width) {
    const bool outside = kWhere == Rows::kAtEdges && (first + i < 0 || first + i >= p.height);
    const float* from = outside ? channel.job.scratch : row;
    HWY_UNROLL(3)
    for (int kx = 0; kx < kSide; ++kx) {
      const auto in = masks.load(reads, from, kx);
      HWY_UNROLL(3)
      for (int ky = 0; ky < kSide; ++ky) {
        const int r = (i - ky) / kStep;
        if (i >= ky && (i - ky) % kStep == 0 && r < kRows)
          sums[r] = hn::MulAdd(in, own.weights[ky * kSide + kx], sums[r]);
      }
    }
  }
  const int64_t rest = std::min<int64_t>(out_width - reads.x, HWY_LANES(float));
  float* out = channel.out + y * out_width + reads.x;
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r, out += out_width)
    store_first(clamped(hn::MulAdd(sums[r], own.scale, own.shift), own.low, own.high), d, out, rest);
}

template <int kRows, int kStep, Rows kWhere>
HWY_INLINE void band_of_threes(const Channel& channel, const Threes& own, const std::vector<Reads>& row, int64_t y) {
  for (const Reads& reads : row) threes<kRows, kStep, kWhere>(channel, own, reads, y);
}

constexpr int kBand = 6;  // rows per pass

template <int kStep>
void convolve_threes(const Channel& channel, const std::vector<Reads>& row) {
  const hn::ScalableTag<float> d;
  const Depthwise& job = channel.job;
  const Plane& p = job.plane;
  Threes own{.weights = {},
             .scale = hn::Set(d, channel.scale),
             .shift = hn::Set(d, channel.shift),
             .low = hn::Set(d, job.low),
             .high = hn::Set(d, job.high)};
  HWY_UNROLL(9)
  for (int t = 0; t < kSide * kSide; ++t) own.weights[t] = hn::Set(d, channel.weights[t]);
  int64_t y = 0;
  for (; y + kBand <= p.out_height; y += kBand) {
    const int64_t first = y * kStep - p.padding_y;
    if (first >= 0 && first + (kBand - 1) * kStep + kSide <= p.height) {
      band_of_threes<kBand, kStep, Rows::kInside>(channel, own, row, y);
    } else {
      band_of_threes<kBand, kStep, Rows::kAtEdges>(channel, own, row, y);
    }
  }
  for (; y + 2 <= p.out_height; y += 2) band_of_threes<2, kStep, Rows::kAtEdges>(channel, own, row, y);
  if (y < p.out_height) band_of_threes<1, kStep, Rows::kAtEdges>(channel, own, row, y);
}

template <int kStep>
void all_threes(const Depthwise& job) {
  const Plane& p = job.plane;
  std::vector<Reads> row;
  for (int64_t x = 0; x < p.out_width; x += HWY_LANES(float)) row.emplace_back(p, x);
  for (int64_t c = 0; c < job.channels; ++c) convolve_threes<kStep>(Channel(job, c), row);
}

void depthwise_threes_here(const Depthwise& job) {
  job.plane.stride_x == 1 ? all_threes<1>(job) : all_threes<2>(job);
}

#else

float tap_at(const Channel& channel, int64_t y, int64_t x) {
  const Plane& p = channel.job.plane;
  return y < 0 || y >= p.height || x < 0 || x >= p.width ? 0.0F : channel.in[y * p.width + x];
}

void convolve_plane(const Channel& channel) {
  const Plane& p = channel.job.plane;
  const float low = channel.job.low, high = channel.job.high;
  for (int64_t i = 0; i < p.out_elems(); ++i) {
    const int64_t y = i / p.out_width * p.stride_y - p.padding_y, x = i % p.out_width * p.stride_x - p.padding_x;
    float sum = 0;
    for (int t = 0; t < kSide * kSide; ++t)
      sum = std::fma(tap_at(channel, y + t / kSide, x + t % kSide), channel.weights[t], sum);
    channel.out[i] = clamped(std::fma(sum, channel.scale, channel.shift), low, high);
  }
}

void depthwise_threes_here(const Depthwise& job) {
  for (int64_t c = 0; c < job.channels; ++c) convolve_plane(Channel(job, c));
}

#endif

}  // namespace
}  // namespace carina::accelerate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::accelerate {

HWY_EXPORT(depthwise_threes_here);

void depthwise_threes(const Depthwise& job) {
  HWY_DYNAMIC_DISPATCH(depthwise_threes_here)(job);
}

}  // namespace carina::accelerate
#endif
