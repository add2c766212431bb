#pragma once

#include <cstdint>

#include "simulate/decode/operation.h"

// Exact fixed-point scaling.
namespace carina::simulate {

__extension__ using Wide = __int128;

// Arithmetic modulo 2^64, for numbers that overflow only in a damaged stream.
constexpr int64_t add_wrapping(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
constexpr int64_t subtract_wrapping(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
constexpr int64_t multiply_wrapping(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// The addend of the exact product before the arithmetic shift. The shift is in [1, 63].
template <typename T>
constexpr T rounding_term(T product, const Scaling& s) {
  const T half = T{1} << (s.shift - 1);
  const int d = s.double_round;
  switch (s.mode) {
    case RoundMode::kNatural:
      return half;
    case RoundMode::kDoubleSymmetric:
    case RoundMode::kDoubleAsymmetric: {
      if (int{s.shift} <= 31 - d || d > 30) return half;
      const T second = T{1} << (30 - d);
      return half + (product < 0 && s.mode == RoundMode::kDoubleSymmetric ? -second : second);
    }
    case RoundMode::kSymmetric:
      return half - (product < 0 ? 1 : 0);
    case RoundMode::kTruncateToZero:
      return product < 0 ? (T{1} << s.shift) - 1 : 0;
    case RoundMode::kTruncateToLower:
      return 0;
  }
  return 0;
}

// value * multiplier / 2^shift with the given rounding, exact for any 64-bit value. Source: docs/facts/ethosu.md 4.1.
constexpr int64_t apply(int64_t value, const Scaling& s) {
  const Wide product = Wide{value} * s.multiplier;
  if (s.shift == 0) return static_cast<int64_t>(product);
  return static_cast<int64_t>((product + rounding_term(product, s)) >> s.shift);
}

// apply() for |value| * multiplier < 2^62, which the caller guarantees.
constexpr int64_t apply_narrow(int64_t value, const Scaling& s) {
  const int64_t product = value * int64_t{s.multiplier};
  if (s.shift == 0) return product;
  return (product + rounding_term(product, s)) >> s.shift;
}

// sum / count rounded half away from zero, as in AVERAGE pooling. It is 0 for a window of padding only.
//   Example: 5 / 2 gives 3, -5 / 2 gives -3.
constexpr int64_t divide_half_away(int64_t sum, int64_t count) {
  if (count == 0) return 0;
  return sum >= 0 ? static_cast<int64_t>((Wide{sum} + count / 2) / count)
                  : static_cast<int64_t>(-((-Wide{sum} + count / 2) / count));
}

}  // namespace carina::simulate
