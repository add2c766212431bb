#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
#include <arm_mve.h>
#define CARINA_MVE_FLOATS 1
#endif

// Rows of floats on cores with MVE, four elements at a time. MVE takes subnormal numbers as 0, so its arithmetic has
// the bits of plain loops only where neither operands nor results are subnormal. Comparisons and selections of the
// bits, as int32, are always equal.
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

// to[i] = function(from[i]) for a row of floats. `four` computes four of them.
template <typename Four>
[[gnu::always_inline]] inline void map_fours(const float* from, float* to, size_t count, const Four& four) {
  for (auto left = static_cast<int32_t>(count); left > 0; left -= 4, from += 4, to += 4) {
    const mve_pred16_t lanes = vctp32q(static_cast<uint32_t>(left));
    vst1q_p_f32(to, four(vld1q_z_f32(from, lanes)), lanes);
  }
}

#endif

}  // namespace carina::runtime
