#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/reduce_integers.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "carina/check.h"
#include "kernels/micro/microkernels.h"

// Sums and extremes of integers along one axis. The compiler vectorizes these loops for each target.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kSide = 256;  // columns that are reduced side by side

template <typename In>
struct Sum {
  using SoFar = int32_t;
  static constexpr SoFar kStart = 0;
  static SoFar apply(SoFar a, In b) { return a + b; }
};
template <typename In>
struct Max {
  using SoFar = In;
  static constexpr SoFar kStart = std::numeric_limits<In>::min();
  static SoFar apply(SoFar a, In b) { return a > b ? a : b; }
};
template <typename In>
struct Min {
  using SoFar = In;
  static constexpr SoFar kStart = std::numeric_limits<In>::max();
  static SoFar apply(SoFar a, In b) { return a < b ? a : b; }
};

template <typename Op, typename In>
void reduce_row(const In* HWY_RESTRICT in, int64_t length, typename Op::SoFar* out) {
  auto so_far = Op::kStart;
  for (int64_t k = 0; k < length; ++k) so_far = Op::apply(so_far, in[k]);
  *out = so_far;
}

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

// The sum of a row of bytes: eight of them at a time as bytes without sign, which are 128 more.
void reduce_row(const int8_t* in, int64_t length, int32_t* out) {
  const hn::ScalableTag<uint8_t> d8;
  const hn::Repartition<uint64_t, decltype(d8)> d64;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d8));
  const auto flip = hn::Set(d8, 0x80);
  auto sums = hn::Zero(d64);
  int64_t k = 0;
  for (; k + lanes <= length; k += lanes)
    sums = hn::Add(sums, hn::SumsOf8(hn::Xor(hn::LoadU(d8, reinterpret_cast<const uint8_t*>(in) + k), flip)));
  int64_t sum = static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(d64, sums))) - 128 * k;
  for (; k < length; ++k) sum += in[k];
  *out = static_cast<int32_t>(sum);
}

// The sum of a row of 16-bit values: pairs at a time, as products with 1.
void reduce_row(const int16_t* in, int64_t length, int32_t* out) {
  const hn::ScalableTag<int16_t> d16;
  const hn::Repartition<int32_t, decltype(d16)> d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d16));
  const auto one = hn::Set(d16, 1);
  auto low = hn::Zero(d32), high = hn::Zero(d32);
  int64_t k = 0;
  for (; k + lanes <= length; k += lanes)
    low = hn::ReorderWidenMulAccumulate(d32, hn::LoadU(d16, in + k), one, low, high);
  int32_t sum = hn::GetLane(hn::SumOfLanes(d32, hn::Add(low, high)));
  for (; k < length; ++k) sum += in[k];
  *out = sum;
}

#endif

template <typename Op, typename In>
void reduce_columns(const In* in, int64_t length, int64_t stride, int64_t columns, typename Op::SoFar* out) {
  typename Op::SoFar so_far[kSide];
  for (int64_t first = 0; first < columns; first += kSide) {
    const int64_t count = std::min(kSide, columns - first);
    std::fill_n(so_far, count, Op::kStart);
    for (int64_t k = 0; k < length; ++k) {
      const In* HWY_RESTRICT row = in + k * stride + first;
      for (int64_t c = 0; c < count; ++c) so_far[c] = Op::apply(so_far[c], row[c]);
    }
    std::copy_n(so_far, count, out + first);
  }
}

template <typename Op, typename In>
void reduce_with(const ReduceIntegers& job) {
  const auto* in = static_cast<const In*>(job.in);
  auto* out = static_cast<typename Op::SoFar*>(job.out);
  if (job.stride == 1) {
    for (int64_t r = 0; r < job.count; ++r) {
#if HWY_TARGET != HWY_SCALAR
      if constexpr (std::is_same_v<Op, Sum<In>> && sizeof(In) < 4) {
        reduce_row(in + r * job.length, job.length, out + r);
        continue;
      }
#endif
      reduce_row<Op, In>(in + r * job.length, job.length, out + r);
    }
  } else {
    reduce_columns<Op, In>(in, job.length, job.stride, job.count, out);
  }
}

template <typename In>
void reduce_as(const ReduceIntegers& job) {
  switch (job.op) {
    case Reduction::kSum:
      return reduce_with<Sum<In>, In>(job);
    case Reduction::kMax:
      return reduce_with<Max<In>, In>(job);
    case Reduction::kMin:
      return reduce_with<Min<In>, In>(job);
  }
  CARINA_UNREACHABLE("reduction", static_cast<int>(job.op));
}

void reduce_integers_here(const ReduceIntegers& job) {
  switch (job.type) {
    case DType::kInt8:
      return reduce_as<int8_t>(job);
    case DType::kInt16:
      return reduce_as<int16_t>(job);
    case DType::kInt32:
      return reduce_as<int32_t>(job);
    default:
      CARINA_UNREACHABLE("type", job.type);
  }
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(reduce_integers_here);

void reduce_integers(const ReduceIntegers& job) {
  HWY_DYNAMIC_DISPATCH(reduce_integers_here)(job);
}

}  // namespace carina::kernels
#endif
