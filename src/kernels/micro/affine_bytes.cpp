#include "kernels/micro/affine_bytes.h"

#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/affine_bytes.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/micro/microkernels.h"
#include "kernels/micro/narrow_inl.h"
#include "kernels/micro/widen_inl.h"

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kWidest = 4 * kLanes;  // results that are computed side by side

struct Bounds {
  int8_t low, high;
};

// The factors of one row of columns.
struct Columns {
  const int32_t *high, *low, *high_addend, *low_addend, *shift;
};

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;
using D32 = hn::ScalableTag<int32_t>;
using V32 = hn::Vec<D32>;

// The result of a vector of bytes at `in`, with the same factors for all.
struct OneForAll {
  V32 high, low, high_addend, low_addend;
  int shift;

  HWY_INLINE explicit OneForAll(const Affine& f)
      : high(hn::Set(D32(), f.high)),
        low(hn::Set(D32(), f.low)),
        high_addend(hn::Set(D32(), f.high_addend)),
        low_addend(hn::Set(D32(), f.low_addend)),
        shift(f.shift) {}
  HWY_INLINE V32 operator()(const int8_t* in, int64_t) const {
    const V32 x = load_i32(in);
    const V32 lower = hn::ShiftRight<Affine::kLowBits>(hn::Add(hn::Mul(x, low), low_addend));
    return hn::ShiftRightSame(hn::Add(hn::Add(hn::Mul(x, high), high_addend), lower), shift);
  }
};

// The same with factors of each column, for a vector from column `c` on.
struct OneForEach {
  Columns f;

  HWY_INLINE V32 operator()(const int8_t* in, int64_t c) const {
    const auto at = [&](const int32_t* list) HWY_ATTR { return hn::LoadU(D32(), list + c); };
    const V32 x = load_i32(in);
    const V32 lower = hn::ShiftRight<Affine::kLowBits>(hn::Add(hn::Mul(x, at(f.low)), at(f.low_addend)));
    return hn::Add(hn::Add(hn::Mul(x, at(f.high)), at(f.high_addend)), lower) >> at(f.shift);
  }
};

// The results of four vectors, of columns from `c` on.
template <bool kClamps, typename Value>
HWY_INLINE void store_four(const StoreBytes& store, const Value& value, const Bounds& bounds, const int8_t* in,
                           int64_t c, int8_t* out) {
  const D32 d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d32));
  V32 results[4];
  HWY_UNROLL(4)
  for (int64_t i = 0; i < 4; ++i) {
    results[i] = value(in + i * lanes, c + i * lanes);
    if constexpr (kClamps)
      results[i] = hn::Min(hn::Max(results[i], hn::Set(d32, bounds.low)), hn::Set(d32, bounds.high));
  }
  store.four(results[0], results[1], results[2], results[3], out);
}

// The last vectors begin so that they end with the row. Shorter rows go through buffers.
template <bool kClamps, typename Value>
HWY_INLINE void row_with(const StoreBytes& store, const Value& value, const Bounds& bounds, const int8_t* in,
                         int64_t count, int8_t* out) {
  const auto width = 4 * static_cast<int64_t>(hn::Lanes(D32()));
  if (count < width) {
    int8_t rest_in[kWidest] = {}, rest[kWidest];
    std::copy_n(in, count, rest_in);
    store_four<kClamps>(store, value, bounds, rest_in, 0, rest);
    std::copy_n(rest, count, out);
    return;
  }
  for (int64_t c = 0; c < count; c += width) {
    const int64_t at = std::min(c, count - width);
    store_four<kClamps>(store, value, bounds, in + at, at, out + at);
  }
}

template <typename Value>
HWY_INLINE void row(const StoreBytes& store, const Value& value, const Bounds& bounds, const int8_t* in, int64_t count,
                    int8_t* out) {
  if (bounds.low == INT8_MIN && bounds.high == INT8_MAX) return row_with<false>(store, value, bounds, in, count, out);
  row_with<true>(store, value, bounds, in, count, out);
}

HWY_INLINE void row_of_one(const StoreBytes& store, const int8_t* in, int8_t* out, int64_t count, const Affine& f,
                           const Bounds& bounds) {
  row(store, OneForAll(f), bounds, in, count, out);
}

HWY_INLINE void row_of_columns(const StoreBytes& store, const int8_t* in, int8_t* out, int64_t count, const Columns& f,
                               const Bounds& bounds) {
  row(store, OneForEach{f}, bounds, in, count, out);
}

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

// Floats from 2^23 to 2^24 are integers, so a sum is one, and its lowest bits are those of the integer.
constexpr float kIntegers = 0x1.8p23F;

HWY_INLINE V32 rounded(VF value, V32 addend) {
  return hn::Add(hn::BitCast(D32(), hn::Add(value, hn::Set(DF(), kIntegers))), addend);
}

HWY_INLINE VF floats_at(const int8_t* in, V32 zero_point) {
  return hn::ConvertTo(DF(), hn::Sub(load_i32(in), zero_point));
}

template <typename Out>
void square(const SquareBytes& job) {
  const D32 d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d32));
  const V32 zero_point = hn::Set(d32, job.zero_point);
  const VF factor = hn::Set(DF(), job.factor);
  const V32 addend = hn::Set(d32, job.addend - std::bit_cast<int32_t>(kIntegers));
  const auto value = [&](const int8_t* in) HWY_ATTR {
    const VF x = floats_at(in, zero_point);
    return rounded(hn::Mul(hn::Mul(x, x), factor), addend);
  };
  [[maybe_unused]] const StoreBytes store_bytes;
  const auto store = [&](const int8_t* in, Out* out) HWY_ATTR {
    const V32 first = value(in), second = value(in + lanes);
    if constexpr (sizeof(Out) == 1) {
      store_bytes(first, second, out);
    } else {
      const hn::Rebind<int16_t, D32> d16;
      hn::StoreU(hn::DemoteTo(d16, first), d16, out);
      hn::StoreU(hn::DemoteTo(d16, second), d16, out + lanes);
    }
  };
  auto* out = static_cast<Out*>(job.out);
  int64_t i = 0;
  for (; i + 2 * lanes <= job.count; i += 2 * lanes) store(job.in + i, out + i);
  if (i == job.count) return;
  int8_t rest_in[2 * kLanes] = {};
  Out rest[2 * kLanes];
  std::copy_n(job.in + i, job.count - i, rest_in);
  store(rest_in, rest);
  std::copy_n(rest, job.count - i, out + i);
}

// `combine` is the operation on floats, which is exact.
template <typename Function>
HWY_INLINE void combine_with(const CombineBytes& job, const Function& combine) {
  const D32 d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d32));
  const StoreBytes store;
  const V32 a_zero_point = hn::Set(d32, job.a_zero_point), b_zero_point = hn::Set(d32, job.b_zero_point);
  const V32 integers = hn::Set(d32, -std::bit_cast<int32_t>(kIntegers));
  const VF factor = hn::Set(DF(), job.factor), addend = hn::Set(DF(), job.addend);
  const auto store_at = [&](const int8_t* a, const int8_t* b, int8_t* out) HWY_ATTR {
    V32 results[4];
    HWY_UNROLL(4)
    for (int64_t v = 0; v < 4; ++v) {
      const VF value = combine(floats_at(a + v * lanes, a_zero_point), floats_at(b + v * lanes, b_zero_point));
      results[v] = rounded(hn::Add(hn::Mul(value, factor), addend), integers);
    }
    store.four(results[0], results[1], results[2], results[3], out);
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= job.count; i += 4 * lanes) store_at(job.a + i, job.b + i, job.out + i);
  if (i == job.count) return;
  int8_t rest_a[kWidest] = {}, rest_b[kWidest] = {}, rest[kWidest];
  std::copy_n(job.a + i, job.count - i, rest_a);
  std::copy_n(job.b + i, job.count - i, rest_b);
  store_at(rest_a, rest_b, rest);
  std::copy_n(rest, job.count - i, job.out + i);
}

void combine_bytes_here(const CombineBytes& job) {
  switch (job.op) {
    case CombineIntegers::kAdd:
      return combine_with(job, [](VF a, VF b) HWY_ATTR { return hn::Add(a, b); });
    case CombineIntegers::kSub:
      return combine_with(job, [](VF a, VF b) HWY_ATTR { return hn::Sub(a, b); });
    case CombineIntegers::kSubFrom:
      return combine_with(job, [](VF a, VF b) HWY_ATTR { return hn::Sub(b, a); });
    default:
      return combine_with(job, [](VF a, VF b) HWY_ATTR { return hn::Mul(a, b); });
  }
}

#else

struct StoreBytes {};

int8_t result_of(int8_t x, const Affine& f, const Bounds& bounds) {
  const int32_t lower = (x * f.low + f.low_addend) >> Affine::kLowBits;
  return static_cast<int8_t>(
      std::clamp<int32_t>((x * f.high + f.high_addend + lower) >> f.shift, bounds.low, bounds.high));
}

void row_of_one(const StoreBytes&, const int8_t* in, int8_t* out, int64_t count, const Affine& f,
                const Bounds& bounds) {
  for (int64_t c = 0; c < count; ++c) out[c] = result_of(in[c], f, bounds);
}

void row_of_columns(const StoreBytes&, const int8_t* in, int8_t* out, int64_t count, const Columns& f,
                    const Bounds& bounds) {
  for (int64_t c = 0; c < count; ++c) {
    const Affine here{.high = f.high[c],
                      .low = f.low[c],
                      .high_addend = f.high_addend[c],
                      .low_addend = f.low_addend[c],
                      .shift = f.shift[c]};
    out[c] = result_of(in[c], here, bounds);
  }
}

template <typename Out>
void square(const SquareBytes& job) {
  auto* out = static_cast<Out*>(job.out);
  for (int64_t i = 0; i < job.count; ++i) {
    const auto x = static_cast<float>(job.in[i] - job.zero_point);
    const float value = std::nearbyint(x * x * job.factor) + static_cast<float>(job.addend);
    out[i] = static_cast<Out>(std::clamp(value, static_cast<float>(std::numeric_limits<Out>::min()),
                                         static_cast<float>(std::numeric_limits<Out>::max())));
  }
}

void combine_bytes_here(const CombineBytes& job) {
  const auto combined = [&](int32_t a, int32_t b) {
    return job.op == CombineIntegers::kAdd       ? a + b
           : job.op == CombineIntegers::kSub     ? a - b
           : job.op == CombineIntegers::kSubFrom ? b - a
                                                 : a * b;
  };
  for (int64_t i = 0; i < job.count; ++i) {
    const auto value = static_cast<float>(combined(job.a[i] - job.a_zero_point, job.b[i] - job.b_zero_point));
    job.out[i] = static_cast<int8_t>(std::clamp(std::nearbyint(value * job.factor + job.addend), -128.0F, 127.0F));
  }
}

#endif

void affine_rows_here(const AffineRows& job) {
  const StoreBytes store;
  const Bounds bounds{.low = job.low, .high = job.high};
  if (job.is_one && job.in_stride == job.columns)
    return row_of_one(store, job.in, job.out, job.rows * job.columns, *job.factors, bounds);
  for (int64_t r = 0; r < job.rows; ++r)
    row_of_one(store, job.in + r * job.in_stride, job.out + r * job.columns, job.columns,
               job.factors[job.is_one ? 0 : r], bounds);
}

void affine_columns_here(const AffineColumns::Lists& lists, const AffineColumns::Job& job, int64_t columns) {
  const StoreBytes store;
  const Columns f{.high = lists.high.data(),
                  .low = lists.low.data(),
                  .high_addend = lists.high_addend.data(),
                  .low_addend = lists.low_addend.data(),
                  .shift = lists.shift.data()};
  for (int64_t r = 0; r < job.rows; ++r)
    row_of_columns(store, job.in + r * job.in_stride, job.out + r * columns, columns, f,
                   {.low = job.low, .high = job.high});
}

void square_bytes_here(const SquareBytes& job) {
  job.to_bytes ? square<int8_t>(job) : square<int16_t>(job);
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(affine_rows_here);
HWY_EXPORT(affine_columns_here);
HWY_EXPORT(square_bytes_here);
HWY_EXPORT(combine_bytes_here);

std::optional<Affine> Affine::create(int64_t factor, int64_t addend, int shift) {
  constexpr int64_t kLargest = int64_t{1} << 30, kMask = (int64_t{1} << kLowBits) - 1, kLargestByte = 128;
  const int64_t high = factor >> kLowBits, high_addend = addend >> kLowBits;
  const bool fits = high >= -kLargest / kLargestByte && high < kLargest / kLargestByte &&
                    high_addend >= -kLargest / 2 && high_addend < kLargest / 2;
  if (shift < kLowBits || !fits) return std::nullopt;
  return Affine{.high = static_cast<int32_t>(high),
                .low = static_cast<int32_t>(factor & kMask),
                .high_addend = static_cast<int32_t>(high_addend),
                .low_addend = static_cast<int32_t>(addend & kMask),
                .shift = std::min(shift - kLowBits, 31)};
}

void affine_rows(const AffineRows& job) {
  HWY_DYNAMIC_DISPATCH(affine_rows_here)(job);
}

AffineColumns::AffineColumns(std::span<const Affine> factors)
    : columns_(std::ssize(factors)), times_((4 * kLanes + columns_ - 1) / columns_) {
  for (int64_t i = 0; i < times_ * columns_; ++i) {
    const Affine& f = factors[static_cast<size_t>(i % columns_)];
    lists_.high.push_back(f.high);
    lists_.low.push_back(f.low);
    lists_.high_addend.push_back(f.high_addend);
    lists_.low_addend.push_back(f.low_addend);
    lists_.shift.push_back(f.shift);
  }
}

void AffineColumns::run(const Job& job) const {
  if (times_ == 1 || job.in_stride != columns_) return HWY_DYNAMIC_DISPATCH(affine_columns_here)(lists_, job, columns_);
  const int64_t together = job.rows / times_, rest = job.rows % times_, length = times_ * columns_;
  Job part = job;
  part.in_stride = length;
  part.rows = together;
  HWY_DYNAMIC_DISPATCH(affine_columns_here)(lists_, part, length);
  if (rest == 0) return;
  part.in += together * length;
  part.out += together * length;
  part.rows = 1;
  HWY_DYNAMIC_DISPATCH(affine_columns_here)(lists_, part, rest * columns_);
}

void square_bytes(const SquareBytes& job) {
  HWY_DYNAMIC_DISPATCH(square_bytes_here)(job);
}

void combine_bytes(const CombineBytes& job) {
  HWY_DYNAMIC_DISPATCH(combine_bytes_here)(job);
}

}  // namespace carina::kernels
#endif
