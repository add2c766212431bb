#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/kernels/float_vectors_internal.h"

// Functions of floats in single precision: on small cores the C library's functions take 40 to 140 instructions. Each
// is computed by additions, multiplications and at most one division in a fixed order, so that all processors and the
// vectors of MVE give the same bits. The largest relative errors, against doubles: exp 9.5e-8, sigmoid 1.8e-7,
// tanh 2.4e-7; gelu 9e-7, with tanh 1.4e-6, for arguments of a magnitude below 4.
namespace carina::runtime {

// e^x = power * (1 + rest) for |x| <= kMaxExponent, where `power` is a power of two.
inline constexpr float kMaxExponent = 87;
template <typename V>
struct Exponential {
  V power, rest;
};
template <typename V>
[[gnu::always_inline]] inline Exponential<V> exponential(V x) {
  constexpr float kLog2OfE = 0x1.715476p0F, kShift = 0x1.8p23F;
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
#if defined(CARINA_FLOAT_VECTORS)
  // Four adjacent elements are computed at a time, and then those out of range, which are rare.
  [[gnu::noinline]] static void map_row(const float* from, float* to, size_t count) {
    for (auto left = static_cast<ptrdiff_t>(count); left > 0; left -= 4, from += 4, to += 4) {
      const FourFloats x = load_four(from, static_cast<size_t>(left));
      store_four(to, Function::in_range(x), static_cast<size_t>(left));
      if (any_above(magnitude(x), Function::kLimit)) [[unlikely]]
        correct(x, to, static_cast<size_t>(left));
    }
  }

 private:
  static void correct(FourFloats x, float* to, size_t count) {
    float values[4];
    store_four(values, x, 4);
    for (size_t i = 0; i < 4 && i < count; ++i) {
      if (magnitude(values[i]) > Function::kLimit) to[i] = Function::out_of_range(values[i]);
    }
  }
#else
  static void map_row(const float* from, float* to, size_t count) {
    for (; count > 0; --count) *to++ = of(*from++);
  }
#endif
};

}  // namespace carina::runtime
