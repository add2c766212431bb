#include "accelerate/targets_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "accelerate/gemm.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <cmath>

#include "accelerate/tail_inl.h"
#include "accelerate/vector_internal.h"

// Float matrix products with the rounding of the runtime's kernels: each output is one chain of additions over the
// depth.
HWY_BEFORE_NAMESPACE();
namespace carina::accelerate::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Targets without a vector FMA call the C library's fma(), which is slow there but exact everywhere.
#if HWY_NATIVE_FMA && !HWY_HAVE_SCALABLE

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kWide = HWY_LANES(float);
constexpr int kMaxVectors = kWide >= 16 ? 4 : 2;  // of a tile; its rows use the remaining registers

struct At {
  int64_t row, column;
  int64_t rest;  // columns of the last vector
};

template <int kRows, int kVectors, bool kTail>
void tile(const Gemm& job, const At& at) {
  const D d;
  const float* a = job.a + at.row * job.a_stride;
  const float* b = job.b + at.column;
  V sums[kRows][kVectors];
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(16)
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < job.depth; ++k) {
    V values[kVectors];
    HWY_UNROLL(8)
    for (int v = 0; v + 1 < kVectors; ++v) values[v] = hn::LoadU(d, b + v * kWide);
    values[kVectors - 1] = load_lanes<kTail>(d, b + (kVectors - 1) * kWide, at.rest);
    b += job.b_stride;
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, a[r * job.a_stride + k]);
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(x, values[v], sums[r][v]);
    }
  }
  const Epilogue& epilogue = job.epilogue;
  const V low = hn::Set(d, epilogue.low), high = hn::Set(d, epilogue.high);
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    const int64_t row = at.row + r;
    const V scale = hn::Set(d, epilogue.scale == nullptr ? 1.0F : epilogue.scale[row]);
    const V shift = hn::Set(d, epilogue.shift == nullptr ? 0.0F : epilogue.shift[row]);
    float* out = job.out + row * job.out_stride + at.column;
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      V value = hn::MulAdd(sums[r][v], scale, shift);
      const bool last = v + 1 == kVectors;
      if (epilogue.column != nullptr) {
        const float* column = epilogue.column + at.column + v * kWide;
        value = hn::Add(value, last ? load_lanes<kTail>(d, column, at.rest) : hn::LoadU(d, column));
      }
      value = clamped(value, low, high);
      last ? store_lanes<kTail>(value, d, out + v * kWide, at.rest) : hn::StoreU(value, d, out + v * kWide);
    }
  }
}

// Computes kRows rows over the columns [begin, end), tile by tile along a row, so that writes stay within few rows.
template <int kRows>
void row_of_tiles(const Gemm& job, int64_t row, int64_t begin, int64_t end) {
  constexpr int kWidest = kMaxVectors;
  At at{.row = row, .column = begin, .rest = kWide};
  if constexpr (kRows == 1) {  // uses all registers for columns: long reads of b, which is read once
    constexpr int kLong = 4 * kMaxVectors;
    for (; at.column + kLong * kWide <= end; at.column += kLong * kWide) tile<1, kLong, false>(job, at);
  }
  for (; at.column + kWidest * kWide <= end; at.column += kWidest * kWide) tile<kRows, kWidest, false>(job, at);
  const int64_t vectors = (end - at.column + kWide - 1) / kWide;
  if (vectors == 0) return;
  at.rest = end - at.column - (vectors - 1) * kWide;
  if (vectors == 1) return tile<kRows, 1, true>(job, at);
  if constexpr (kWidest >= 2) {
    if (vectors == 2) return tile<kRows, 2, true>(job, at);
  }
  if constexpr (kWidest >= 3) {
    if (vectors == 3) return tile<kRows, 3, true>(job, at);
  }
  if constexpr (kWidest >= 4) tile<kRows, 4, true>(job, at);
}

// The number of columns per pass is limited so that their part of b stays in the second-level cache.
constexpr int64_t kCacheFloats = 64 * 1024;

void multiply_here(const Gemm& job) {
  constexpr int kRows = 6;
  const int64_t fit = kCacheFloats / std::max<int64_t>(job.depth, 1) / kPanelColumns * kPanelColumns;
  const int64_t step = std::max(fit, kPanelColumns);
  for (int64_t begin = 0; begin < job.columns; begin += step) {
    const int64_t end = std::min(begin + step, job.columns);
    int64_t row = 0;
    for (; row + kRows <= job.rows; row += kRows) row_of_tiles<kRows>(job, row, begin, end);
    for (; row + 4 <= job.rows; row += 4) row_of_tiles<4>(job, row, begin, end);
    for (; row + 2 <= job.rows; row += 2) row_of_tiles<2>(job, row, begin, end);
    if (row < job.rows) row_of_tiles<1>(job, row, begin, end);
  }
}

#else

void multiply_here(const Gemm& job) {
  const Epilogue& epilogue = job.epilogue;
  for (int64_t m = 0; m < job.rows; ++m) {
    for (int64_t n = 0; n < job.columns; ++n) {
      float sum = 0;
      for (int64_t k = 0; k < job.depth; ++k)
        sum = std::fma(job.a[m * job.a_stride + k], job.b[k * job.b_stride + n], sum);
      float value = std::fma(sum, epilogue.scale == nullptr ? 1.0F : epilogue.scale[m],
                             epilogue.shift == nullptr ? 0.0F : epilogue.shift[m]);
      if (epilogue.column != nullptr) value += epilogue.column[n];
      job.out[m * job.out_stride + n] = clamped(value, epilogue.low, epilogue.high);
    }
  }
}

#endif

}  // namespace
}  // namespace carina::accelerate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::accelerate {

HWY_EXPORT(multiply_here);

void multiply(const Gemm& job) {
  HWY_DYNAMIC_DISPATCH(multiply_here)(job);
}

}  // namespace carina::accelerate
#endif
