#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/requantize.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>

#include "kernels/micro/microkernels.h"

// Requantization of 32-bit sums to int8 as CMSIS-NN rounds it, and quantization of floats.
//   Example: (a * b + 2^30) / 2^31, then a right shift that rounds half away from zero.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<int32_t>;
using V32 = hn::Vec<D32>;
using D8 = hn::Rebind<int8_t, D32>;

// (a * b + 2^30) / 2^31 of each lane. The quotient must fit 32 bits.
HWY_INLINE V32 doubled_high(V32 a, V32 b) {
  const D32 d32;
  const hn::RepartitionToWide<D32> d64;
  const hn::RebindToUnsigned<decltype(d64)> u64;
  const auto half = hn::Set(d64, int64_t{1} << 30);
  const auto even = hn::BitCast(u64, hn::Add(hn::MulEven(a, b), half));
  const V32 low = hn::BitCast(d32, hn::ShiftRight<31>(even));
#if HWY_TARGET == HWY_SCALAR
  return low;
#else
  const auto odd_down = [&](V32 v) { return hn::BitCast(d32, hn::ShiftRight<32>(hn::BitCast(u64, v))); };
  const auto odd = hn::Add(hn::MulEven(odd_down(a), odd_down(b)), half);
  return hn::OddEven(hn::BitCast(d32, hn::ShiftLeft<1>(odd)), low);
#endif
}

// A right shift that rounds half away from zero, for values below 2^30.
struct Shift {
  V32 bits;
  V32 half;   // 2^(bits - 1), 0 for 0
  V32 nudge;  // -1 if bits are shifted out

  explicit Shift(V32 right_shift) : bits(right_shift) {
    const D32 d32;
    half = hn::ShiftRight<1>(hn::Shl(hn::Set(d32, 1), bits));
    half = hn::And(half, hn::Set(d32, 0x7FFFFFFF));  // for 31 bits, the shift above moved into the sign
    nudge = hn::VecFromMask(d32, hn::Gt(bits, hn::Zero(d32)));
  }
  HWY_INLINE V32 operator()(V32 value) const {
    const V32 away = hn::And(hn::BroadcastSignBit(value), nudge);
    return hn::Shr(hn::Add(hn::Add(value, half), away), bits);
  }
};

void store_bytes(V32 value, int8_t* to, int64_t count) {
  const D32 d32;
  const D8 d8;
  const auto bytes = hn::DemoteTo(d8, value);
  if (count >= static_cast<int64_t>(hn::Lanes(d32))) return hn::StoreU(bytes, d8, to);
  alignas(64) int8_t lanes[HWY_LANES(int32_t)];
  hn::StoreU(bytes, d8, lanes);
  std::copy_n(lanes, count, to);
}

void requantize_here(const Requantize& job) {
  const D32 d32;
  const auto wide = static_cast<int64_t>(hn::Lanes(d32));
  const V32 zero_point = hn::Set(d32, job.zero_point), low = hn::Set(d32, job.low), high = hn::Set(d32, job.high);
  for (int64_t c = 0; c < job.channels; c += wide) {
    const V32 column = hn::LoadU(d32, job.column + c), multiplier = hn::LoadU(d32, job.multiplier + c);
    const Shift shifted_right(hn::LoadU(d32, job.right_shift + c));
    const int64_t count = std::min(wide, job.channels - c);
    for (int64_t r = 0; r < job.rows; ++r) {
      const V32 sum = hn::Add(hn::LoadU(d32, job.in + r * job.in_stride + c), column);
      const V32 scaled = hn::Add(shifted_right(doubled_high(sum, multiplier)), zero_point);
      store_bytes(hn::Min(hn::Max(scaled, low), high), job.out + r * job.out_stride + c, count);
    }
  }
}

void quantize_here(const QuantizeFloats& job) {
  const hn::ScalableTag<float> df;
  const D32 d32;
  const auto wide = static_cast<int64_t>(hn::Lanes(df));
  const auto scale = hn::Set(df, job.inverse_scale), zero_point = hn::Set(df, job.zero_point);
  const auto low = hn::Set(df, job.low), high = hn::Set(df, job.high);
  const auto codes = [&](hn::Vec<decltype(df)> value) {
    value = hn::Add(zero_point, hn::Round(hn::Mul(scale, value)));
    value = hn::IfThenZeroElse(hn::IsNaN(value), value);
    return hn::ConvertTo(d32, hn::Min(hn::Max(value, low), high));
  };
  int64_t i = 0;
  for (; i + wide <= job.count; i += wide) store_bytes(codes(hn::LoadU(df, job.in + i)), job.out + i, wide);
  if (i == job.count) return;
  alignas(64) float rest[HWY_LANES(float)] = {};
  std::copy_n(job.in + i, job.count - i, rest);
  store_bytes(codes(hn::LoadU(df, rest)), job.out + i, job.count - i);
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(requantize_here);
HWY_EXPORT(quantize_here);

void requantize(const Requantize& job) {
  HWY_DYNAMIC_DISPATCH(requantize_here)(job);
}

void quantize_floats(const QuantizeFloats& job) {
  HWY_DYNAMIC_DISPATCH(quantize_here)(job);
}

}  // namespace carina::kernels
#endif
