#include <cstddef>

#include "simulate/vectors/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simulate/vectors/simd_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Widens rows of bytes to 16 bits minus the zero point, and flips the signs of bytes.
HWY_BEFORE_NAMESPACE();
namespace carina::simulate::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void widen(const T* in, size_t count, int16_t zero_point, int16_t* out) {
  const hn::ScalableTag<int16_t> d16;
  const hn::Rebind<T, decltype(d16)> d8;
  const auto zp = hn::Set(d16, zero_point);
  const size_t lanes = hn::Lanes(d16);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Sub(hn::PromoteTo(d16, hn::LoadU(d8, in + i)), zp), d16, out + i);
  for (; i < count; ++i) out[i] = static_cast<int16_t>(in[i] - zero_point);
}

template <typename T>
void widen_brick(const T* in, size_t pixels, int16_t zero_point, int16_t* out, size_t out_stride) {
  const hn::CappedTag<int16_t, kChannelGroup> d16;
  const hn::Rebind<T, decltype(d16)> d8;
  const auto zp = hn::Set(d16, zero_point);
  const size_t lanes = hn::Lanes(d16);
  for (size_t p = 0; p < pixels; ++p, in += kChannelGroup, out += out_stride) {
    for (size_t i = 0; i < kChannelGroup; i += lanes) {
      hn::StoreU(hn::Sub(hn::PromoteTo(d16, hn::LoadU(d8, in + i)), zp), d16, out + i);
    }
  }
}

void Flip(const std::byte* in, size_t count, uint8_t flips, uint8_t* out) {
  const hn::ScalableTag<uint8_t> d;
  const auto mask = hn::Set(d, flips);
  const auto* bytes = reinterpret_cast<const uint8_t*>(in);
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Xor(hn::LoadU(d, bytes + i), mask), d, out + i);
  for (; i < count; ++i) out[i] = static_cast<uint8_t>(bytes[i] ^ flips);
}

void FlipBrick(const std::byte* in, size_t pixels, uint8_t flips, uint8_t* out, size_t out_stride) {
  const hn::CappedTag<uint8_t, kChannelGroup> d;
  const auto mask = hn::Set(d, flips);
  const auto* bytes = reinterpret_cast<const uint8_t*>(in);
  for (size_t p = 0; p < pixels; ++p, bytes += kChannelGroup, out += out_stride) {
    for (size_t i = 0; i < kChannelGroup; i += hn::Lanes(d))
      hn::StoreU(hn::Xor(hn::LoadU(d, bytes + i), mask), d, out + i);
  }
}

void WidenS8(const int8_t* in, size_t count, int16_t zero_point, int16_t* out) {
  widen(in, count, zero_point, out);
}
void WidenU8(const uint8_t* in, size_t count, int16_t zero_point, int16_t* out) {
  widen(in, count, zero_point, out);
}
void WidenBrickS8(const int8_t* in, size_t pixels, int16_t zp, int16_t* out, size_t stride) {
  widen_brick(in, pixels, zp, out, stride);
}
void WidenBrickU8(const uint8_t* in, size_t pixels, int16_t zp, int16_t* out, size_t stride) {
  widen_brick(in, pixels, zp, out, stride);
}
const char* Target() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace carina::simulate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::simulate {

HWY_EXPORT(Flip);
HWY_EXPORT(FlipBrick);
HWY_EXPORT(WidenS8);
HWY_EXPORT(WidenU8);
HWY_EXPORT(WidenBrickS8);
HWY_EXPORT(WidenBrickU8);
HWY_EXPORT(Target);

void flip(const std::byte* in, size_t count, uint8_t flips, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(Flip)(in, count, flips, out);
}
void flip_brick(const std::byte* in, size_t pixels, uint8_t flips, uint8_t* out, size_t out_stride) {
  HWY_DYNAMIC_DISPATCH(FlipBrick)(in, pixels, flips, out, out_stride);
}
void widen_s8(const int8_t* in, size_t count, int16_t zero_point, int16_t* out) {
  HWY_DYNAMIC_DISPATCH(WidenS8)(in, count, zero_point, out);
}
void widen_u8(const uint8_t* in, size_t count, int16_t zero_point, int16_t* out) {
  HWY_DYNAMIC_DISPATCH(WidenU8)(in, count, zero_point, out);
}
void widen_brick_s8(const int8_t* in, size_t pixels, int16_t zero_point, int16_t* out, size_t out_stride) {
  HWY_DYNAMIC_DISPATCH(WidenBrickS8)(in, pixels, zero_point, out, out_stride);
}
void widen_brick_u8(const uint8_t* in, size_t pixels, int16_t zero_point, int16_t* out, size_t out_stride) {
  HWY_DYNAMIC_DISPATCH(WidenBrickU8)(in, pixels, zero_point, out, out_stride);
}
const char* kernel_target() {
  return HWY_DYNAMIC_DISPATCH(Target)();
}

}  // namespace carina::simulate
#endif
