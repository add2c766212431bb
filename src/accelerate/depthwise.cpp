#include "accelerate/targets_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "accelerate/depthwise.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <cmath>

#include "accelerate/depthwise_threes_internal.h"
#include "accelerate/tail_inl.h"
#include "accelerate/vector_internal.h"

#ifndef CARINA_ACCELERATE_PADDED
#define CARINA_ACCELERATE_PADDED
namespace carina::accelerate {

// The layout of the padded input in scratch memory. Its columns are distributed to as many planes as the stride, so
// that neighboring outputs read neighboring elements.
struct Padded {
  int64_t pitch;  // row stride of a plane
  int64_t rows;
  explicit Padded(const Plane& p) {
    constexpr int64_t kSlack = 32;  // zeros, for vectors that begin in the row and end after it
    const int64_t reach = (p.out_width - 1) * p.stride_x + (p.kernel_width - 1) * p.dilation_x + 1;
    pitch = (std::max(reach, p.width + p.padding_x) + p.stride_x - 1) / p.stride_x + kSlack;
    rows = (p.out_height - 1) * p.stride_y + (p.kernel_height - 1) * p.dilation_y + 1;
    rows = std::max(rows, p.height + p.padding_y) + 8 * p.stride_y;  // rows are computed up to eight at a time
  }
};

}  // namespace carina::accelerate
#endif

HWY_BEFORE_NAMESPACE();
namespace carina::accelerate::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Column x of the padded row is stored in plane x % stride, at x / stride.
void deal_single(const Plane& p, const float* in, float* row, int64_t elems) {
  for (int64_t x = 0; x < p.width; ++x) {
    const int64_t column = x + p.padding_x;
    row[column % p.stride_x * elems + column / p.stride_x] = in[x];
  }
}

// Targets without a vector FMA call the C library's fma(), which is slow there but exact everywhere.
#if HWY_NATIVE_FMA && !HWY_HAVE_SCALABLE

// Vectors that extend past the row write zeros to the slack, which contains zeros already.
void deal_row(const Plane& p, const float* in, float* row, int64_t elems) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kWide = HWY_LANES(float);
  const auto load = [&](int64_t x) HWY_ATTR {
    return p.width - x >= kWide ? hn::LoadU(d, in + x) : load_first(d, in + x, std::max<int64_t>(p.width - x, 0));
  };
  if (p.stride_x > 2) return deal_single(p, in, row, elems);
  if (p.stride_x == 1) {
    for (int64_t x = 0; x < p.width; x += kWide) hn::StoreU(load(x), d, row + p.padding_x + x);
    return;
  }
  const int64_t odd = p.padding_x % 2;  // the plane of the input's column 0
  float* first = row + odd * elems + p.padding_x / 2;
  float* second = row + (1 - odd) * elems + (p.padding_x + 1) / 2;
  for (int64_t x = 0; x < p.width; x += 2 * kWide) {
    const auto low = load(x), high = load(x + kWide);
    hn::StoreU(hn::ConcatEven(d, high, low), d, first + x / 2);
    hn::StoreU(hn::ConcatOdd(d, high, low), d, second + x / 2);
  }
}

#else

void deal_row(const Plane& p, const float* in, float* row, int64_t elems) {
  deal_single(p, in, row, elems);
}

#endif

void fill_padded(const Depthwise& job, const Padded& padded, const float* in) {
  const Plane& p = job.plane;
  const int64_t elems = padded.pitch * padded.rows;
  for (int64_t y = 0; y < p.height; ++y)
    deal_row(p, in + y * p.width, job.scratch + (y + p.padding_y) * padded.pitch, elems);
}

struct Taps {
  int64_t count = 0;
  int64_t offset[kMaxTaps];
};

Taps taps_of(const Plane& p, const Padded& padded) {
  Taps taps;
  for (int64_t ky = 0; ky < p.kernel_height; ++ky) {
    for (int64_t kx = 0; kx < p.kernel_width; ++kx) {
      const int64_t column = kx * p.dilation_x;
      taps.offset[taps.count++] =
          ky * p.dilation_y * padded.pitch + column % p.stride_x * padded.pitch * padded.rows + column / p.stride_x;
    }
  }
  return taps;
}

// The state of one channel of the job.
struct Channel {
  const Depthwise& job;
  const float* weights;
  float* out;
  float scale, shift;
};

#if HWY_NATIVE_FMA && !HWY_HAVE_SCALABLE

// Computes kRows rows of kVectors vectors. Rows after the last one are computed and not stored.
template <int kRows, int kVectors>
HWY_NOINLINE void block(const Channel& channel, const Taps& taps, const float* from, int64_t row_step, int64_t y,
                        int64_t x) {
  const Depthwise& job = channel.job;
  const hn::ScalableTag<float> d;
  using Vector = hn::Vec<decltype(d)>;
  constexpr int64_t kWide = HWY_LANES(float);
  Vector sums[kRows][kVectors];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (int64_t t = 0; t < taps.count; ++t) {
    const Vector weight = hn::Set(d, channel.weights[t]);
    const float* tap = from + taps.offset[t];
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] = hn::MulAdd(hn::LoadU(d, tap + r * row_step + v * kWide), weight, sums[r][v]);
    }
  }
  const Plane& p = job.plane;
  const Vector scale = hn::Set(d, channel.scale), shift = hn::Set(d, channel.shift);
  const Vector low = hn::Set(d, job.low), high = hn::Set(d, job.high);
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    if (y + r >= p.out_height) return;
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const int64_t column = x + v * kWide;
      if (column >= p.out_width) break;
      const Vector value = clamped(hn::MulAdd(sums[r][v], scale, shift), low, high);
      float* out = channel.out + (y + r) * p.out_width + column;
      const int64_t rest = p.out_width - column;
      rest >= kWide ? hn::StoreU(value, d, out) : store_first(value, d, out, rest);
    }
  }
}

void convolve_plane(const Channel& channel, const Padded& padded, const Taps& taps) {
  const Depthwise& job = channel.job;
  constexpr int64_t kWide = HWY_LANES(float);
  const Plane& p = job.plane;
  const int64_t row_step = p.stride_y * padded.pitch;
  // Eight independent sums hide the latency of an addition.
  if (p.out_width <= kWide) {
    for (int64_t y = 0; y < p.out_height; y += 8)
      block<8, 1>(channel, taps, job.scratch + y * row_step, row_step, y, 0);
    return;
  }
  for (int64_t y = 0; y < p.out_height; y += 4) {
    const float* row = job.scratch + y * row_step;
    for (int64_t x = 0; x < p.out_width; x += 2 * kWide) block<4, 2>(channel, taps, row + x, row_step, y, x);
  }
}

#else

void convolve_plane(const Channel& channel, const Padded& padded, const Taps& taps) {
  const Depthwise& job = channel.job;
  const Plane& p = job.plane;
  for (int64_t y = 0; y < p.out_height; ++y) {
    for (int64_t x = 0; x < p.out_width; ++x) {
      float sum = 0;
      for (int64_t t = 0; t < taps.count; ++t)
        sum = std::fma(job.scratch[y * p.stride_y * padded.pitch + x + taps.offset[t]], channel.weights[t], sum);
      channel.out[y * p.out_width + x] = clamped(std::fma(sum, channel.scale, channel.shift), job.low, job.high);
    }
  }
}

#endif

void depthwise_here(const Depthwise& job) {
  const Plane& p = job.plane;
  const Padded padded(p);
  const Taps taps = taps_of(p, padded);
  for (int64_t c = 0; c < job.channels; ++c) {
    fill_padded(job, padded, job.in + (job.skipped + c) / job.of_one_input * p.in_elems());
    convolve_plane({.job = job,
                    .weights = job.weights + c * taps.count,
                    .out = job.out + c * p.out_elems(),
                    .scale = job.scale[c],
                    .shift = job.shift[c]},
                   padded, taps);
  }
}

}  // namespace
}  // namespace carina::accelerate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::accelerate {

HWY_EXPORT(depthwise_here);

int64_t plane_elems(const Plane& plane) {
  if (is_three(plane)) return plane.width;
  const Padded padded(plane);
  return padded.pitch * padded.rows * plane.stride_x;
}

void depthwise(const Depthwise& job) {
  if (is_three(job.plane)) return depthwise_threes(job);
  HWY_DYNAMIC_DISPATCH(depthwise_here)(job);
}

}  // namespace carina::accelerate
#endif
