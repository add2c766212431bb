#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/kernels/float_vectors_internal.h"

// Functions of floats in single precision: on small cores the C library's functions take 40 to 140 instructions. Each
// is computed by additions, multiplications and at most one division in a fixed order, so that all processors and the
// vectors of MVE give the same bits. The largest relative errors, against doubles: exp 1e-7, sigmoid 2e-7, tanh 3e-7,
// gelu 1e-6 (for arguments of a magnitude below 4).
namespace carina::runtime {

// 2^n for the float kShift + n with a small integer n: n is in its lowest bits.
inline constexpr float kShift = 0x1.8p23F;
inline float power_of_two(float shifted) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + 0x3f800000U);
}
// x > 0 ? a : b
inline float select_positive(float x, float a, float b) {
  return x > 0 ? a : b;
}
inline float magnitude(float x) {
  return std::fabs(x);
}

#if defined(CARINA_MVE_FLOATS)
[[gnu::always_inline]] inline FourFloats power_of_two(FourFloats shifted) {
  const uint32x4_t exponents = vshlq_n_u32(vreinterpretq_u32_f32(shifted.lanes), 23);
  return {vreinterpretq_f32_u32(vaddq_n_u32(exponents, 0x3f800000U))};
}
[[gnu::always_inline]] inline FourFloats select_positive(FourFloats x, FourFloats a, FourFloats b) {
  return {vpselq_f32(a.lanes, b.lanes, vcmpgtq_n_f32(x.lanes, 0.0F))};
}
[[gnu::always_inline]] inline FourFloats magnitude(FourFloats x) {
  return {vabsq_f32(x.lanes)};
}
#endif

// e^x = power * (1 + rest) for |x| <= kMaxExponent, where `power` is a power of two.
inline constexpr float kMaxExponent = 87;
template <typename V>
struct Exponential {
  V power, rest;
};
template <typename V>
[[gnu::always_inline]] inline Exponential<V> exponential(V x) {
  constexpr float kLog2OfE = 0x1.715476p0F;
  constexpr float kLog2High = 0x1.63p-1F, kLog2Low = -0x1.bd0106p-13F;  // the sum is ln(2)
  const V shifted = x * kLog2OfE + kShift;
  const V n = shifted - kShift;
  const V r = x - n * kLog2High - n * kLog2Low;  // |r| <= ln(2) / 2
  V sum = r * 0x1.6bebcep-10F + 0x1.1228e6p-7F;
  sum = sum * r + 0x1.555676p-5F;
  sum = sum * r + 0x1.5554aep-3F;
  sum = sum * r + 0x1.fffffep-2F;
  return {.power = power_of_two(shifted), .rest = (sum * r + 1.0F) * r};
}

// Functions: in_range(x) for |x| <= kLimit, also for vectors; otherwise out_of_range(x), also for doubles.
struct ExpFunction {
  static constexpr float kLimit = kMaxExponent;
  template <typename V>
  [[gnu::always_inline]] static V in_range(V x) {
    const Exponential<V> e = exponential(x);
    return e.power * e.rest + e.power;
  }
  template <typename T>
  static T out_of_range(T x) {
    return std::exp(x);
  }
};

struct SigmoidFunction {
  static constexpr float kLimit = kMaxExponent;
  template <typename V>
  [[gnu::always_inline]] static V in_range(V x) {
    const V e = ExpFunction::in_range(x);
    return e / (e + 1.0F);
  }
  template <typename T>
  static T out_of_range(T x) {
    return 1 / (1 + std::exp(-x));
  }
};

struct TanhFunction {
  static constexpr float kLimit = kMaxExponent / 2;
  template <typename V>
  [[gnu::always_inline]] static V in_range(V x) {
    const Exponential<V> e = exponential(x + x);
    const V above = e.power * e.rest + (e.power - 1.0F);  // e^2x - 1
    return above / (above + 2.0F);
  }
  template <typename T>
  static T out_of_range(T x) {
    return std::tanh(x);
  }
};

// x * the normal distribution's probability of values below x. Below -|x| it is exp(-x^2 / 2) * a rational function.
struct GeluFunction {
  static constexpr float kLimit = 13;
  template <typename V>
  [[gnu::always_inline]] static V in_range(V x) {
    const V z = magnitude(x);
    V above = z * 0x1.12eceap-6F + 0x1.e4f744p-4F;
    above = above * z + 0x1.70a2b6p-2F;
    above = above * z + 0x1.fffff4p-2F;
    V below = z * 0x1.589d3ep-5F + 0x1.2fae7p-2F;
    below = below * z + 0x1.e561dap-1F;
    below = below * z + 0x1.849268p0F;
    below = below * z + 1.0F;
    const V outside = ExpFunction::in_range(z * z * -0.5F) * above / below;
    return select_positive(x, x - x * outside, x * outside);
  }
  template <typename T>
  static T out_of_range(T x) {
    constexpr double kRootOfHalf = 0.70710678118654752440;
    const auto wide = static_cast<double>(x);
    return static_cast<T>(0.5 * wide * (1 + std::erf(wide * kRootOfHalf)));
  }
};

// The approximation with tanh(u): x * (1 + tanh(u)) / 2 = x * sigmoid(2 * u)
struct TanhGeluFunction {
  static constexpr float kLimit = 9.9F;  // |2 * u| <= kMaxExponent
  static constexpr double kRootOfTwoOverPi = 0.79788456080286535588, kCubic = 0.044715;
  template <typename V>
  [[gnu::always_inline]] static V in_range(V x) {
    constexpr auto kLinear = static_cast<float>(2 * kRootOfTwoOverPi);
    return x * SigmoidFunction::in_range(x * (x * x * static_cast<float>(2 * kRootOfTwoOverPi * kCubic) + kLinear));
  }
  template <typename T>
  static T out_of_range(T x) {
    const auto wide = static_cast<double>(x);
    return static_cast<T>(0.5 * wide * (1 + std::tanh(kRootOfTwoOverPi * (wide + kCubic * wide * wide * wide))));
  }
};

// A function of elements of any floating-point type. Integers are returned unchanged.
template <typename Function>
struct FloatFunction {
  template <typename T>
  T operator()(T x) const {
    return of(x);
  }
  template <typename T>
  static T of(T x) {
    if constexpr (std::is_same_v<T, int64_t>) {
      return x;
    } else if constexpr (std::is_same_v<T, float>) {
      return magnitude(x) > Function::kLimit ? Function::out_of_range(x) : Function::in_range(x);
    } else {
      return Function::out_of_range(x);
    }
  }
  // Replaces `count` elements by their function values.
  static void replace(float* elements, ptrdiff_t step, size_t count) {
#if defined(CARINA_MVE_FLOATS)
    if (step == 1) return map_row(elements, elements, count);
#endif
    for (; count > 0; --count, elements += step) *elements = of(*elements);
  }
#if defined(CARINA_MVE_FLOATS)
  // Four adjacent elements are computed at a time, and then those out of range, which are rare.
  [[gnu::noinline]] static void map_row(const float* from, float* to, size_t count) {
    for (auto left = static_cast<int32_t>(count); left > 0; left -= 4, from += 4, to += 4) {
      const mve_pred16_t lanes = vctp32q(static_cast<uint32_t>(left));
      const float32x4_t x = vld1q_z_f32(from, lanes);
      vst1q_p_f32(to, Function::in_range(FourFloats{x}).lanes, lanes);
      mve_pred16_t far = vcmpgtq_n_f32(vabsq_f32(x), Function::kLimit);
      if (far == 0) [[likely]]
        continue;
      float values[4];
      vst1q_f32(values, x);
      for (int i = 0; i < 4; ++i, far = static_cast<mve_pred16_t>(far >> 4)) {
        if ((far & 1) != 0) to[i] = Function::out_of_range(values[i]);
      }
    }
  }
#endif
};

}  // namespace carina::runtime
