#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
#include <arm_mve.h>
#define CARINA_MVE_FLOATS 1
#define CARINA_FLOAT_VECTORS 1
#elif defined(__SSE2__) || defined(__ARM_NEON)
#define CARINA_FLOAT_VECTORS 1
#endif

// Four floats at a time, on cores with MVE and on hosts. MVE takes subnormal numbers as 0, so its arithmetic has the
// bits of plain loops only where neither operands nor results are subnormal. Comparisons and selections of the bits, as
// int32, are always equal.
namespace carina::runtime {

#if defined(CARINA_MVE_FLOATS)

struct FourFloats {
  float32x4_t lanes;

  [[gnu::always_inline]] friend FourFloats operator+(FourFloats a, FourFloats b) {
    return {vaddq_f32(a.lanes, b.lanes)};
  }
  [[gnu::always_inline]] friend FourFloats operator+(FourFloats a, float b) { return {vaddq_n_f32(a.lanes, b)}; }
  [[gnu::always_inline]] friend FourFloats operator-(FourFloats a, FourFloats b) {
    return {vsubq_f32(a.lanes, b.lanes)};
  }
  [[gnu::always_inline]] friend FourFloats operator-(FourFloats a, float b) { return {vsubq_n_f32(a.lanes, b)}; }
  [[gnu::always_inline]] friend FourFloats operator*(FourFloats a, FourFloats b) {
    return {vmulq_f32(a.lanes, b.lanes)};
  }
  [[gnu::always_inline]] friend FourFloats operator*(FourFloats a, float b) { return {vmulq_n_f32(a.lanes, b)}; }
  // MVE has no division. The registers of four lanes are also four registers of one float.
  [[gnu::always_inline]] friend FourFloats operator/(FourFloats a, FourFloats b) {
    register float32x4_t quotient asm("q0") = a.lanes;
    register float32x4_t divisor asm("q1") = b.lanes;
    asm("vdiv.f32 s0, s0, s4\n"
        "vdiv.f32 s1, s1, s5\n"
        "vdiv.f32 s2, s2, s6\n"
        "vdiv.f32 s3, s3, s7\n"
        : "+w"(quotient)
        : "w"(divisor));
    return {quotient};
  }
};

inline mve_pred16_t first_lanes(size_t count) {
  return vctp32q(static_cast<uint32_t>(count));
}
// The first `count` floats, at most four, and zeros.
[[gnu::always_inline]] inline FourFloats load_four(const float* from, size_t count) {
  return {vld1q_z_f32(from, first_lanes(count))};
}
[[gnu::always_inline]] inline void store_four(float* to, FourFloats values, size_t count) {
  vst1q_p_f32(to, values.lanes, first_lanes(count));
}
[[gnu::always_inline]] inline FourFloats magnitude(FourFloats x) {
  return {vabsq_f32(x.lanes)};
}
[[gnu::always_inline]] inline bool any_above(FourFloats x, float limit) {
  return vcmpgtq_n_f32(x.lanes, limit) != 0;
}
// x > 0 ? a : b
[[gnu::always_inline]] inline FourFloats select_positive(FourFloats x, FourFloats a, FourFloats b) {
  return {vpselq_f32(a.lanes, b.lanes, vcmpgtq_n_f32(x.lanes, 0.0F))};
}
// 2^n for the float 1.5 * 2^23 + n with a small integer n: n is in its lowest bits.
[[gnu::always_inline]] inline FourFloats power_of_two(FourFloats shifted) {
  const uint32x4_t exponents = vshlq_n_u32(vreinterpretq_u32_f32(shifted.lanes), 23);
  return {vreinterpretq_f32_u32(vaddq_n_u32(exponents, 0x3f800000U))};
}

#elif defined(CARINA_FLOAT_VECTORS)

struct FourFloats {
  using Lanes [[gnu::vector_size(16)]] = float;
  using Bits [[gnu::vector_size(16)]] = uint32_t;
  Lanes lanes;

  friend FourFloats operator+(FourFloats a, FourFloats b) { return {a.lanes + b.lanes}; }
  friend FourFloats operator+(FourFloats a, float b) { return {a.lanes + b}; }
  friend FourFloats operator-(FourFloats a, FourFloats b) { return {a.lanes - b.lanes}; }
  friend FourFloats operator-(FourFloats a, float b) { return {a.lanes - b}; }
  friend FourFloats operator*(FourFloats a, FourFloats b) { return {a.lanes * b.lanes}; }
  friend FourFloats operator*(FourFloats a, float b) { return {a.lanes * b}; }
  friend FourFloats operator/(FourFloats a, FourFloats b) { return {a.lanes / b.lanes}; }
};

inline FourFloats load_four(const float* from, size_t count) {
  FourFloats values{};
  if (count >= 4) {
    std::memcpy(&values.lanes, from, sizeof(values.lanes));
  } else {
    for (size_t i = 0; i < count; ++i) values.lanes[i] = from[i];
  }
  return values;
}
inline void store_four(float* to, FourFloats values, size_t count) {
  if (count >= 4) {
    std::memcpy(to, &values.lanes, sizeof(values.lanes));
  } else {
    for (size_t i = 0; i < count; ++i) to[i] = values.lanes[i];
  }
}
inline FourFloats magnitude(FourFloats x) {
  return {std::bit_cast<FourFloats::Lanes>(std::bit_cast<FourFloats::Bits>(x.lanes) & 0x7fffffffU)};
}
inline bool any_above(FourFloats x, float limit) {
  using Halves [[gnu::vector_size(16)]] = uint64_t;
  const auto lanes = std::bit_cast<Halves>(x.lanes > limit);
  return (lanes[0] | lanes[1]) != 0;
}
inline FourFloats select_positive(FourFloats x, FourFloats a, FourFloats b) {
  return {x.lanes > 0 ? a.lanes : b.lanes};
}
inline FourFloats power_of_two(FourFloats shifted) {
  return {std::bit_cast<FourFloats::Lanes>((std::bit_cast<FourFloats::Bits>(shifted.lanes) << 23) + 0x3f800000U)};
}

#endif

// The same for one float.
inline float magnitude(float x) {
  return std::fabs(x);
}
inline float select_positive(float x, float a, float b) {
  return x > 0 ? a : b;
}
inline float power_of_two(float shifted) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + 0x3f800000U);
}

#if defined(CARINA_FLOAT_VECTORS)
// to[i] = function(from[i]) for a row of floats. `four` computes four of them.
template <typename Four>
[[gnu::always_inline]] inline void map_fours(const float* from, float* to, size_t count, const Four& four) {
  for (auto left = static_cast<ptrdiff_t>(count); left > 0; left -= 4, from += 4, to += 4)
    store_four(to, four(load_four(from, static_cast<size_t>(left))), static_cast<size_t>(left));
}
#endif

}  // namespace carina::runtime
