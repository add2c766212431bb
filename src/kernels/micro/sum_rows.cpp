#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/sum_rows.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include "kernels/micro/microkernels.h"

// Sums of float rows in the order of their elements. Several rows are summed side by side in the lanes of vectors.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

void sum_row(const float* in, int64_t length, float* out) {
  float sum = 0;
  for (int64_t k = 0; k < length; ++k) sum += in[k];
  *out = sum;
}

#if HWY_TARGET == HWY_SCALAR

int64_t sum_side_by_side(const SumRowsF32&) {
  return 0;
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// Each row is one chain of additions. To hide the latency of an addition, several rows are summed at the same time:
// four rows in the lanes of a vector (after a 4 x 4 transposition), in several vectors.
constexpr int64_t kSide = 4;

template <int64_t Vectors>
void sum_block(const float* in, int64_t length, float* out) {
  const hn::FixedTag<float, kSide> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  hn::Vec<decltype(d)> sums[Vectors];
  HWY_UNROLL(4)
  for (int64_t v = 0; v < Vectors; ++v) sums[v] = hn::Zero(d);
  int64_t k = 0;
  for (; k + kSide <= length; k += kSide) {
    HWY_UNROLL(4)
    for (int64_t v = 0; v < Vectors; ++v) {
      const float* at = in + v * kSide * length + k;
      const auto a = hn::LoadU(d, at), b = hn::LoadU(d, at + length);
      const auto c = hn::LoadU(d, at + 2 * length), e = hn::LoadU(d, at + 3 * length);
      const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
      const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
      const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
      const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
      sums[v] = hn::Add(sums[v], hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)));
      sums[v] = hn::Add(sums[v], hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)));
      sums[v] = hn::Add(sums[v], hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)));
      sums[v] = hn::Add(sums[v], hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)));
    }
  }
  HWY_UNROLL(4)
  for (int64_t v = 0; v < Vectors; ++v) hn::StoreU(sums[v], d, out + v * kSide);
  for (int64_t r = 0; r < kSide * Vectors; ++r) {
    for (int64_t rest = k; rest < length; ++rest) out[r] += in[r * length + rest];
  }
}

// Returns how many rows it summed: all but at most three.
int64_t sum_side_by_side(const SumRowsF32& job) {
  int64_t row = 0;
  const auto sum = [&]<int64_t Vectors>() {
    for (; row + kSide * Vectors <= job.rows; row += kSide * Vectors)
      sum_block<Vectors>(job.in + row * job.length, job.length, job.out + row);
  };
  sum.template operator()<4>();
  sum.template operator()<2>();
  sum.template operator()<1>();
  return row;
}

#endif

void sum_rows_here(const SumRowsF32& job) {
  for (int64_t row = sum_side_by_side(job); row < job.rows; ++row)
    sum_row(job.in + row * job.length, job.length, job.out + row);
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(sum_rows_here);

void sum_rows_f32(const SumRowsF32& job) {
  HWY_DYNAMIC_DISPATCH(sum_rows_here)(job);
}

}  // namespace carina::kernels
#endif
