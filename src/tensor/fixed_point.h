#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "carina/check.h"

namespace carina {

// Fixed-point arithmetic. It is the only arithmetic that the interpreter and the NPU simulator share. The tests check
// each function against an independent wide-integer oracle.

// A real factor of integers: multiplier / 2^shift. It goes unchanged from a RESCALE, whose multipliers are below 2^31
// and whose shifts are in [2, 62], to the NPU's registers and tables of scales, which hold 32 bits and shifts up to 63.
//   Example: 0.3 is {1288490189, 32}. {1, 0} changes nothing.
struct ScaleFactor {
  uint32_t multiplier = 1;
  int shift = 0;
  [[nodiscard]] bool is_unit() const { return multiplier == 1 && shift == 0; }
  bool operator==(const ScaleFactor&) const = default;
};

// value * multiplier / 2^shift, rounded half up (towards +infinity); with `double_round` as TOSA's DOUBLE_ROUND, which
// rounds a second time for shift > 31. multiplier >= 0, shift in [2, 62]; |value| such that the product fits int64.
// Source: TOSA 1.0, section 1.11.4, apply_scale_32.
enum class Rounding : uint8_t { kSingle, kDouble };
inline int64_t apply_scale_32(int64_t value, int32_t multiplier, int shift, Rounding rounding) {
  int64_t round = int64_t{1} << (shift - 1);
  if (rounding == Rounding::kDouble && shift > 31) round += value >= 0 ? int64_t{1} << 30 : -(int64_t{1} << 30);
  return (value * multiplier + round) >> shift;
}

// Like apply_scale_32(), for a 48-bit value and a 15-bit multiplier. Source: TOSA 1.0, section 1.11.4, apply_scale_16.
inline int64_t apply_scale_16(int64_t value, int16_t multiplier, int shift) {
  return (value * multiplier + (int64_t{1} << (shift - 1))) >> shift;
}

// TOSA's reciprocal of a window size for AVG_POOL2D: 1 / n = multiplier * 2^-shift. n in [1, 2^31). Source: TOSA 1.0,
// section 1.11.4, reciprocal_scale.
inline ScaleFactor reciprocal_scale(uint32_t n) {
  const int k = 32 - std::countl_zero(n - 1);  // (n - 1) / 2^k in [0.5, 1)
  const int64_t numerator = ((int64_t{1} << 30) + 1) << k;
  return {.multiplier = static_cast<uint32_t>(numerator / n), .shift = 30 + k};
}

// Returns the factor nearest to `scale` with a 31-bit multiplier. A scale that is too small becomes {0, 62}. `scale`
// must not be negative, and must be finite and below 2^29. Source: the RESCALE arithmetic of ExecuTorch's Arm backend
// (tosa quant_utils).
inline ScaleFactor scale_factor_of(double scale) {
  CARINA_CHECK(std::isfinite(scale) && scale >= 0 && scale < (1 << 29), "scale {}", scale);
  int exponent = 0;
  const double mantissa = std::frexp(scale, &exponent);
  auto multiplier = static_cast<int64_t>(std::round(mantissa * (int64_t{1} << 31)));
  if (multiplier == (int64_t{1} << 31)) {
    multiplier >>= 1;
    ++exponent;
  }
  int shift = 31 - exponent;
  // Drops low bits of the multiplier, so that the shift becomes 62.
  if (shift > 62) {
    const int lost = std::min(31, shift - 62);
    multiplier >>= lost;
    shift = 62;
  }
  return {.multiplier = static_cast<uint32_t>(multiplier), .shift = shift};
}

template <typename T>
inline T saturate(int64_t value) {
  return static_cast<T>(std::clamp<int64_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

}  // namespace carina
