#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/scale_rows.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <cstring>

#include "carina/check.h"
#include "kernels/micro/microkernels.h"
#include "kernels/micro/narrow_inl.h"
#include "kernels/micro/widen_inl.h"
#include "kernels/micro/within.h"

// RESCALE of rows: out = clamp((value - in_zp) * multiplier >> shift, rounded, + out_zp), per tensor or per channel.
//   Example: 100 * 1,288,490,189 >> 31 is 60: the multiplier is 0.6 in units of 2^-31.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

// A scale of 2^left_shift: a conversion to a wider type, as before a sum or a product. The compiler vectorizes this
// loop for each target.
template <typename In, typename Out>
void shift_row(const Scales& s, const In* HWY_RESTRICT in, Out* HWY_RESTRICT out, int64_t count) {
  const int32_t zero_point = s.input_zp, bits = *s.left_shift, output_zp = s.output_zp, low = s.low, high = s.high;
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<Out>(std::clamp(((in[i] - zero_point) << bits) + output_zp, low, high));
}

#if HWY_TARGET == HWY_SCALAR

template <typename In, typename Out>
void scale_row(const Scales& s, const In* in, Out* out, int64_t first, int64_t count, const int32_t* column) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t c = s.per_channel ? first + i : 0;
    const auto at = static_cast<size_t>(c / 2);
    const int64_t value = int64_t{in[i]} + (column == nullptr ? 0 : column[first + i]) - s.input_zp;
    const int64_t extra = (c % 2 == 0 ? s.extra_even : s.extra_odd)[at];
    const int64_t round = (c % 2 == 0 ? s.round_even : s.round_odd)[at] + (value >= 0 ? extra : -extra);
    const auto channel = static_cast<size_t>(c);
    const int64_t scaled = ((value << s.before[channel]) * s.multiplier[channel] + round) >> (32 + s.after[channel]);
    out[i] = static_cast<Out>(std::clamp<int64_t>(scaled + s.output_zp, s.low, s.high));
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;
using D32 = hn::ScalableTag<int32_t>;
using D64 = hn::ScalableTag<int64_t>;
using V32 = hn::Vec<D32>;
using V64 = hn::Vec<D64>;

struct Factors {
  V32 multiplier, before, after;
  V64 round_even, round_odd, extra_even, extra_odd;
};

HWY_INLINE Factors load_factors(const Scales& s, int64_t c) {
  const D32 d32;
  const D64 d64;
  return {.multiplier = hn::LoadU(d32, s.multiplier.data() + c),
          .before = hn::LoadU(d32, s.before.data() + c),
          .after = hn::LoadU(d32, s.after.data() + c),
          .round_even = hn::LoadU(d64, s.round_even.data() + c / 2),
          .round_odd = hn::LoadU(d64, s.round_odd.data() + c / 2),
          .extra_even = hn::LoadU(d64, s.extra_even.data() + c / 2),
          .extra_odd = hn::LoadU(d64, s.extra_odd.data() + c / 2)};
}

// ((value << before) * multiplier + round) >> 32 >> after.
template <bool Doubled>
HWY_INLINE V32 scale(V32 value, const Factors& f) {
  const D32 d32;
  const D64 d64;
  value = value << f.before;
  V64 even = hn::Add(hn::MulEven(value, f.multiplier), f.round_even);
  const V32 value_odd = hn::BitCast(d32, hn::ShiftRight<32>(hn::BitCast(hn::RebindToUnsigned<D64>(), value)));
  const V32 multiplier_odd =
      hn::BitCast(d32, hn::ShiftRight<32>(hn::BitCast(hn::RebindToUnsigned<D64>(), f.multiplier)));
  V64 odd = hn::Add(hn::MulEven(value_odd, multiplier_odd), f.round_odd);
  if constexpr (Doubled) {
    const V64 sign_even = hn::BroadcastSignBit(hn::ShiftLeft<32>(hn::BitCast(d64, value)));
    const V64 sign_odd = hn::BroadcastSignBit(hn::BitCast(d64, value));
    even = hn::Add(even, hn::Sub(hn::Xor(f.extra_even, sign_even), sign_even));
    odd = hn::Add(odd, hn::Sub(hn::Xor(f.extra_odd, sign_odd), sign_odd));
  }
  const V32 upper_even = hn::BitCast(d32, hn::ShiftRight<32>(hn::BitCast(hn::RebindToUnsigned<D64>(), even)));
  return hn::OddEven(hn::BitCast(d32, odd), upper_even) >> f.after;
}

template <typename Out>
HWY_INLINE void store(V32 value, Out* out) {
  const D32 d32;
  if constexpr (sizeof(Out) == 4) {
    hn::StoreU(value, d32, out);
  } else {
    const hn::Rebind<Out, D32> narrow;
    hn::StoreU(hn::DemoteTo(narrow, value), narrow, out);
  }
}

// Copies fewer elements than a vector has, without a call.
template <typename T>
HWY_INLINE void copy_rest(const T* from, T* to, int64_t count) {
  const auto copy = [&](int64_t step) HWY_ATTR {
    if ((count & step) == 0) return;
    std::memcpy(to, from, static_cast<size_t>(step) * sizeof(T));
    to += step;
    from += step;
  };
  static_assert(kLanes == 16);
  copy(8);
  copy(4);
  copy(2);
  copy(1);
}

// Loads fewer elements than a vector has. A load of what has just been stored in parts would wait for the stores.
template <typename In>
HWY_INLINE V32 load_rest(const In* in, int64_t count) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3  // other targets would read the rest of the vector
  if constexpr (sizeof(In) == 4) return hn::MaskedLoad(hn::FirstN(D32(), static_cast<size_t>(count)), D32(), in);
#endif
  In rest[kLanes] = {};
  copy_rest(in, rest, count);
  return load_i32(rest);
}

// store() saturates narrow outputs.
template <typename In, typename Out, bool PerChannel, bool Doubled, bool Plain>
void scale_block_with(const ScaleRows& job) {
  const D32 d32;
  const Scales& s = job.scales;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d32));
  const V32 output_zp = hn::Set(d32, s.output_zp);
  const V32 low = hn::Set(d32, s.low);
  const V32 high = hn::Set(d32, s.high);
  const auto* in = static_cast<const In*>(job.in);
  auto* out = static_cast<Out*>(job.out);
  const auto scaled = [&](V32 value, const Factors& factors) HWY_ATTR {
    const V32 result = scale<Doubled>(value, factors);
    if constexpr (Plain) return result;
    return hn::Min(hn::Max(hn::Add(result, output_zp), low), high);
  };
  int64_t i = 0;
  if (!PerChannel && job.rows == 1 && job.column == nullptr) {  // nothing depends on the channel
    const Factors factors = load_factors(s, 0);
    const V32 zp = hn::Set(d32, s.input_zp);
    for (; i + lanes <= job.channels; i += lanes) store(scaled(hn::Sub(load_i32(in + i), zp), factors), out + i);
  }
  for (; i < job.channels; i += lanes) {
    const int64_t c = job.first + i;
    const Factors factors = load_factors(s, PerChannel ? c : 0);
    const V32 zp = hn::Set(d32, s.input_zp);
    const V32 offset = job.column == nullptr ? zp : hn::Sub(zp, hn::LoadU(d32, job.column + c));
    if (i + lanes <= job.channels) {
      for (int64_t r = 0; r < job.rows; ++r)
        store(scaled(hn::Sub(load_i32(in + r * job.in_stride + i), offset), factors), out + r * job.out_stride + i);
      continue;
    }
    const int64_t rest = job.channels - i;
    Out rest_out[kLanes];
    for (int64_t r = 0; r < job.rows; ++r) {
      store(scaled(hn::Sub(load_rest(in + r * job.in_stride + i, rest), offset), factors), rest_out);
      copy_rest(rest_out, out + r * job.out_stride + i, rest);
    }
  }
}

template <typename In, typename Out>
void scale_block(const ScaleRows& job) {
  const Scales& s = job.scales;
  if (s.plain)
    return s.per_channel ? scale_block_with<In, Out, true, false, true>(job)
                         : scale_block_with<In, Out, false, false, true>(job);
  if (s.doubled)
    return s.per_channel ? scale_block_with<In, Out, true, true, false>(job)
                         : scale_block_with<In, Out, false, true, false>(job);
  return s.per_channel ? scale_block_with<In, Out, true, false, false>(job)
                       : scale_block_with<In, Out, false, false, false>(job);
}

#endif

#if HWY_TARGET == HWY_SCALAR
template <typename In, typename Out>
void scale_block(const ScaleRows& job) {
  for (int64_t r = 0; r < job.rows; ++r) {
    scale_row(job.scales, static_cast<const In*>(job.in) + r * job.in_stride,
              static_cast<Out*>(job.out) + r * job.out_stride, job.first, job.channels, job.column);
  }
}
#endif

#if HWY_TARGET != HWY_SCALAR
// value * multiplier >> 32.
HWY_INLINE V32 upper_product(V32 value, V32 multiplier) {
  const D32 d32;
  const hn::RebindToUnsigned<D64> du64;
  const auto odd = [&](V32 v) HWY_ATTR { return hn::BitCast(d32, hn::ShiftRight<32>(hn::BitCast(du64, v))); };
  const V64 even_product = hn::MulEven(value, multiplier), odd_product = hn::MulEven(odd(value), odd(multiplier));
  return hn::OddEven(hn::BitCast(d32, odd_product),
                     hn::BitCast(d32, hn::ShiftRight<32>(hn::BitCast(du64, even_product))));
}

// Rows of i32 to the whole range of i8 by one factor.
template <typename Scaled>
HWY_INLINE void scale_to_bytes(const ScaleRows& job, const Scaled& scaled) {
  const D32 d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d32));
  const StoreBytes store_bytes;
  for (int64_t r = 0; r < job.rows; ++r) {
    const auto* in = static_cast<const int32_t*>(job.in) + r * job.in_stride;
    auto* out = static_cast<int8_t*>(job.out) + r * job.out_stride;
    int64_t i = 0;
    for (; i + 2 * lanes <= job.channels; i += 2 * lanes)
      store_bytes(scaled(hn::LoadU(d32, in + i)), scaled(hn::LoadU(d32, in + i + lanes)), out + i);
    if (i == job.channels) continue;
    int32_t tail_in[2 * kLanes] = {};
    int8_t tail_out[2 * kLanes];
    std::copy_n(in + i, job.channels - i, tail_in);
    store_bytes(scaled(hn::LoadU(d32, tail_in)), scaled(hn::LoadU(d32, tail_in + lanes)), tail_out);
    std::copy_n(tail_out, job.channels - i, out + i);
  }
}

void scale_to_bytes(const ScaleRows& job) {
  const Scales& s = job.scales;
  if (s.in_floats) {
    const hn::ScalableTag<float> df;
    const auto factor = hn::Set(df, s.in_floats->factor), addend = hn::Set(df, s.in_floats->addend);
    return scale_to_bytes(job, [&](V32 value) HWY_ATTR {
      return hn::NearestInt(hn::Add(hn::Mul(hn::ConvertTo(df, value), factor), addend));
    });
  }
  const Factors factors = load_factors(s, 0);
  const V32 zero_point = hn::Set(D32(), s.output_zp);
  const int after = s.after.front();
  // The rounding addend and the zero point are multiples of 2^32. Sums of upper halves, which are below 2^30, fit.
  constexpr int kLargestShift = 22;
  if (s.before.front() == 0 && after >= 1 && after <= kLargestShift) {
    const int64_t addend = (s.round_even.front() >> 32) + s.output_zp * (int64_t{1} << after);
    const V32 upper_addend = hn::Set(D32(), static_cast<int32_t>(addend));
    return scale_to_bytes(job, [&](V32 value) HWY_ATTR {
      return hn::ShiftRightSame(upper_product(value, factors.multiplier) + upper_addend, after);
    });
  }
  scale_to_bytes(job, [&](V32 value) HWY_ATTR { return scale<false>(value, factors) + zero_point; });
}
#endif

template <typename In, typename Out>
void scale_as(const ScaleRows& job) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(In) == 4 && sizeof(Out) == 1) {
    const Scales& s = job.scales;
    if (!s.per_channel && !s.doubled && s.low == INT8_MIN && s.high == INT8_MAX && s.input_zp == 0 &&
        job.column == nullptr)
      return scale_to_bytes(job);
  }
#endif
  if (!job.scales.left_shift || job.column != nullptr) return scale_block<In, Out>(job);
  for (int64_t r = 0; r < job.rows; ++r) {
    shift_row(job.scales, static_cast<const In*>(job.in) + r * job.in_stride,
              static_cast<Out*>(job.out) + r * job.out_stride, job.channels);
  }
}

template <typename In>
void scale_from(const ScaleRows& job) {
  switch (job.out_type) {
    case DType::kInt8:
      return scale_as<In, int8_t>(job);
    case DType::kInt16:
      return scale_as<In, int16_t>(job);
    case DType::kInt32:
      return scale_as<In, int32_t>(job);
    default:
      CARINA_UNREACHABLE("type", job.out_type);
  }
}

void scale_rows_here(const ScaleRows& job) {
  switch (job.in_type) {
    case DType::kInt8:
      return scale_from<int8_t>(job);
    case DType::kInt16:
      return scale_from<int16_t>(job);
    case DType::kInt32:
      return scale_from<int32_t>(job);
    default:
      CARINA_UNREACHABLE("type", job.in_type);
  }
}

// Plain loops. The compiler vectorizes them for each target.
void take_row_terms_here(const RowTerms& t) {
  for (int64_t r = 0; r < t.rows; ++r) {
    const uint32_t row = static_cast<uint32_t>(t.factor) * static_cast<uint32_t>(t.row_sums[r]);
    int32_t* acc = t.acc + r * t.stride;
    for (int64_t c = 0; c < t.channels; ++c) acc[c] = static_cast<int32_t>(static_cast<uint32_t>(acc[c]) - row);
  }
}

bool are_within_here(const int32_t* values, int64_t count, int32_t low, int32_t high) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const D32 d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d32));
  auto least = hn::Set(d32, high), most = hn::Set(d32, low);
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(d32, values + i);
    least = hn::Min(least, value);
    most = hn::Max(most, value);
  }
  if (hn::GetLane(hn::MinOfLanes(d32, least)) < low || hn::GetLane(hn::MaxOfLanes(d32, most)) > high) return false;
#endif
  return std::all_of(values + i, values + count, [&](int32_t value) { return value >= low && value <= high; });
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(scale_rows_here);
HWY_EXPORT(take_row_terms_here);
HWY_EXPORT(are_within_here);

void scale_rows(const ScaleRows& job) {
  HWY_DYNAMIC_DISPATCH(scale_rows_here)(job);
}

bool are_within(const int32_t* values, int64_t count, int32_t low, int32_t high) {
  return HWY_DYNAMIC_DISPATCH(are_within_here)(values, count, low, high);
}

void take_row_terms(const RowTerms& job) {
  HWY_DYNAMIC_DISPATCH(take_row_terms_here)(job);
}

}  // namespace carina::kernels
#endif
