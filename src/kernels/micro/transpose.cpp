#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/transpose.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>

#include "kernels/micro/microkernels.h"

// Transposes matrices in squares of one vector's width.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

template <typename T>
void tile(const T* in, int64_t in_stride, T* out, int64_t out_stride) {
  for (int64_t r = 0; r < kTransposeTile; ++r) {
    for (int64_t c = 0; c < kTransposeTile; ++c) out[c * out_stride + r] = in[r * in_stride + c];
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// Transposes N x N elements, where N = 2^n elements fill a vector. The index of an element has 2n bits: n of the row, n
// of the column. Interleaving row i with row i + N / 2 rotates the index left by one bit, so n rounds exchange row and
// column.
template <typename T>
HWY_INLINE void square(const T* in, int64_t in_stride, T* out, int64_t out_stride) {
  constexpr int64_t kSize = 16 / sizeof(T);
  const hn::FixedTag<T, kSize> d;
  hn::Vec<decltype(d)> rows[kSize];
  HWY_UNROLL(16)
  for (int64_t r = 0; r < kSize; ++r) rows[r] = hn::LoadU(d, in + r * in_stride);
  HWY_UNROLL(4)
  for (int64_t turned_by = 1; turned_by < kSize; turned_by *= 2) {
    hn::Vec<decltype(d)> turned[kSize];
    HWY_UNROLL(8)
    for (int64_t r = 0; r < kSize / 2; ++r) {
      turned[2 * r] = hn::InterleaveLower(d, rows[r], rows[r + kSize / 2]);
      turned[2 * r + 1] = hn::InterleaveUpper(d, rows[r], rows[r + kSize / 2]);
    }
    HWY_UNROLL(16)
    for (int64_t r = 0; r < kSize; ++r) rows[r] = turned[r];
  }
  HWY_UNROLL(16)
  for (int64_t r = 0; r < kSize; ++r) hn::StoreU(rows[r], d, out + r * out_stride);
}

template <typename T>
void tile(const T* in, int64_t in_stride, T* out, int64_t out_stride) {
  constexpr int64_t kSize = 16 / sizeof(T);
  for (int64_t c = 0; c < kTransposeTile; c += kSize) {
    for (int64_t r = 0; r < kTransposeTile; r += kSize)
      square(in + r * in_stride + c, in_stride, out + c * out_stride + r, out_stride);
  }
}

#endif

// The last tile of a row or column is moved back so that it ends at the edge. Some elements are then written twice,
// with the same value. Few columns are done at a time, so that the rows of the result stay in the first-level cache
// until they are complete.
template <typename T>
void transpose_with(const Transpose<T>& job) {
  constexpr int64_t kColumns = 4 * kTransposeTile;
  for (int64_t first = 0; first < job.columns; first += kColumns) {
    const int64_t end = std::min(first + kColumns, job.columns);
    for (int64_t r = 0; r < job.rows; r += kTransposeTile) {
      const int64_t row = std::min(r, job.rows - kTransposeTile);
      for (int64_t c = first; c < end; c += kTransposeTile) {
        const int64_t column = std::min(c, job.columns - kTransposeTile);
        tile(job.in + row * job.in_stride + column, job.in_stride, job.out + column * job.out_stride + row,
             job.out_stride);
      }
    }
  }
}

void transpose_bytes_here(const Transpose<uint8_t>& job) {
  transpose_with(job);
}
void transpose_words_here(const Transpose<uint32_t>& job) {
  transpose_with(job);
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(transpose_bytes_here);
HWY_EXPORT(transpose_words_here);

void transpose(const Transpose<uint8_t>& job) {
  HWY_DYNAMIC_DISPATCH(transpose_bytes_here)(job);
}
void transpose(const Transpose<uint32_t>& job) {
  HWY_DYNAMIC_DISPATCH(transpose_words_here)(job);
}

}  // namespace carina::kernels
#endif
