#include "interpret/simd/targets_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "interpret/simd/transpose.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>

#include "interpret/simd/simd_internal.h"

HWY_BEFORE_NAMESPACE();
namespace carina::interpret::simd::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

void tile(const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride) {
  for (int64_t r = 0; r < kTransposeTile; ++r) {
    for (int64_t c = 0; c < kTransposeTile; ++c) out[c * out_stride + r] = in[r * in_stride + c];
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// The place of a byte among the 256 has eight bits, row then column. Interleaving row i with row i + 8 turns them left
// by one, so four times exchanges row and column.
void tile(const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride) {
  const hn::FixedTag<uint8_t, kTransposeTile> d;
  hn::Vec<decltype(d)> rows[kTransposeTile];
  HWY_UNROLL(16)
  for (int64_t r = 0; r < kTransposeTile; ++r) rows[r] = hn::LoadU(d, in + r * in_stride);
  HWY_UNROLL(4)
  for (int turn = 0; turn < 4; ++turn) {
    hn::Vec<decltype(d)> turned[kTransposeTile];
    HWY_UNROLL(8)
    for (int64_t r = 0; r < kTransposeTile / 2; ++r) {
      turned[2 * r] = hn::InterleaveLower(d, rows[r], rows[r + kTransposeTile / 2]);
      turned[2 * r + 1] = hn::InterleaveUpper(d, rows[r], rows[r + kTransposeTile / 2]);
    }
    HWY_UNROLL(16)
    for (int64_t r = 0; r < kTransposeTile; ++r) rows[r] = turned[r];
  }
  HWY_UNROLL(16)
  for (int64_t r = 0; r < kTransposeTile; ++r) hn::StoreU(rows[r], d, out + r * out_stride);
}

#endif

// The last tile of a row or column is moved back to end with it: some bytes are written twice, with the same value.
void transpose_here(const TransposeBytes& job) {
  for (int64_t r = 0; r < job.rows; r += kTransposeTile) {
    const int64_t row = std::min(r, job.rows - kTransposeTile);
    for (int64_t c = 0; c < job.columns; c += kTransposeTile) {
      const int64_t column = std::min(c, job.columns - kTransposeTile);
      tile(job.in + row * job.in_stride + column, job.in_stride, job.out + column * job.out_stride + row,
           job.out_stride);
    }
  }
}

}  // namespace
}  // namespace carina::interpret::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::interpret::simd {

HWY_EXPORT(transpose_here);

void transpose_bytes(const TransposeBytes& job) {
  HWY_DYNAMIC_DISPATCH(transpose_here)(job);
}

}  // namespace carina::interpret::simd
#endif
