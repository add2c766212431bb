#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/int8_dot_internal.h"
#include "runtime/kernels/window_internal.h"

// Code that the integer kernels of ExecuTorch's Cortex-M backend share. Their values are those of its Python
// implementations (executorch/backends/cortex_m/ops/operators.py), which follow CMSIS-NN.
namespace carina::runtime {

// A left shift that wraps around, as int64 does in PyTorch.
inline int64_t wrapped_shift(int64_t value, int64_t bits) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) << bits);
}

// CMSIS-NN's arm_nn_requantize: value * multiplier / 2^31 * 2^shift, rounded half up, then half away from zero.
struct Requantization {
  int64_t multiplier = 0;
  int64_t shift = 0;

  [[nodiscard]] bool is_sane() const { return shift >= -31 && shift <= 31; }
  [[nodiscard]] int32_t operator()(int64_t value) const {
    if (shift <= 0 && is_narrow(value) && multiplier >= 0 && is_narrow(multiplier))
      return rounded_shift(static_cast<int32_t>(narrow_high(value)), static_cast<int32_t>(-shift));
    const int64_t high = shift < 0 && is_narrow(value) && is_narrow(multiplier) ? narrow_high(value) : wide_high(value);
    if (shift >= 0) return static_cast<int32_t>(high);
    const int64_t mask = (int64_t{1} << -shift) - 1;
    const int64_t result = high >> -shift;
    const int64_t threshold = (mask >> 1) + (result < 0 ? 1 : 0);
    return static_cast<int32_t>(result + ((high & mask) > threshold ? 1 : 0));
  }

  // value / 2^bits, rounded to the nearest integer, and half away from zero.
  static int32_t rounded_shift(int32_t value, int32_t bits) {
    const int32_t mask = static_cast<int32_t>((uint32_t{1} << bits) - 1);
    const int32_t result = value >> bits;
    return result + ((value & mask) > (mask >> 1) + (result < 0 ? 1 : 0) ? 1 : 0);
  }

 private:
  static bool is_narrow(int64_t value) { return value == static_cast<int32_t>(value); }
  // The high part of the product with 32-bit multiplications only, because small cores have no 64 x 64 bit
  // multiplication.
  [[nodiscard]] int64_t narrow_high(int64_t value) const {
    const int64_t product = int64_t{static_cast<int32_t>(value)} * static_cast<int32_t>(multiplier);
    return (product + (int64_t{1} << 30)) >> 31;
  }
  [[nodiscard]] int64_t wide_high(int64_t value) const {
    const auto product =
        static_cast<uint64_t>(wrapped_shift(value, std::max<int64_t>(shift, 0))) * static_cast<uint64_t>(multiplier);
    return static_cast<int64_t>(product + (uint64_t{1} << 30)) >> 31;
  }
};

// How sums become bytes: requantized, shifted by the zero point and clamped.
struct OutputCodes {
  int64_t zero_point, low, high;

  [[nodiscard]] bool fit() const {
    return std::min({zero_point, low, high}) >= INT8_MIN && std::max({zero_point, low, high}) <= INT8_MAX;
  }
  [[nodiscard]] int8_t operator()(const Requantization& scale, int64_t sum) const {
    return static_cast<int8_t>(std::clamp<int64_t>(scale(sum) + zero_point, low, high));
  }
};

// Four int32 sums as bytes, with one requantization or with one each.
class FourCodes {
 public:
  // Whether a requantization applies, if `start` is a part of the sum. All others are rare.
  static bool fits(const Requantization& scale, int32_t start) {
    return scale.shift <= 0 && scale.multiplier >= 0 && scale.multiplier <= INT32_MAX && start >= -INT32_MAX / 2 &&
           start <= INT32_MAX / 2;
  }
#if defined(__ARM_FEATURE_MVE)
  [[gnu::always_inline]] FourCodes(const Requantization& scale, const OutputCodes& codes)
      : FourCodes(vdupq_n_s32(static_cast<int32_t>(scale.multiplier)), vdupq_n_s32(static_cast<int32_t>(scale.shift)),
                  codes) {}
  [[gnu::always_inline]] FourCodes(const int32_t* multipliers, const int32_t* shifts, const OutputCodes& codes)
      : FourCodes(vld1q_s32(multipliers), vld1q_s32(shifts), codes) {}
  [[gnu::always_inline]] void operator()(int8_t* to, const FourSums& sums) const {
    // Half away from zero: 1 is subtracted from negative numbers before halves are rounded up.
    const int32x4_t high = vqrdmulhq_s32(sums.values(), multipliers_);
    const int32x4_t below = vshrq_n_s32(vandq_s32(high, shifts_), 31);
    const int32x4_t codes = vaddq_n_s32(vrshlq_s32(vqaddq_s32(high, below), shifts_), zero_point_);
    vstrbq_s32(to, vminq_s32(vmaxq_s32(codes, low_), high_));
  }

 private:
  [[gnu::always_inline]] FourCodes(int32x4_t multipliers, int32x4_t shifts, const OutputCodes& codes)
      : multipliers_(multipliers),
        shifts_(shifts),
        low_(vdupq_n_s32(static_cast<int32_t>(codes.low))),
        high_(vdupq_n_s32(static_cast<int32_t>(codes.high))),
        zero_point_(static_cast<int32_t>(codes.zero_point)) {}

  int32x4_t multipliers_, shifts_, low_, high_;
  int32_t zero_point_;
#else
  FourCodes(const Requantization& scale, const OutputCodes& codes) : codes_(codes) { scales_.fill(scale); }
  FourCodes(const int32_t* multipliers, const int32_t* shifts, const OutputCodes& codes) : codes_(codes) {
    for (size_t i = 0; i < 4; ++i) scales_[i] = {.multiplier = multipliers[i], .shift = shifts[i]};
  }
  void operator()(int8_t* to, const FourSums& sums) const {
    for (size_t i = 0; i < 4; ++i) to[i] = codes_(scales_[i], sums.values()[i]);
  }

 private:
  std::array<Requantization, 4> scales_{};
  OutputCodes codes_;
#endif
};

inline Requantization requantization(Call& call, size_t multiplier) {
  const Requantization scale{.multiplier = call.integer(multiplier), .shift = call.integer(multiplier + 1)};
  call.require(scale.is_sane());
  return scale;
}

// Rows of int8 of a matrix product.
struct Int8Rows {
  const int8_t* data;
  int64_t offset;  // added to each element
};

// out[m, n] = codes(scale(start[n] + the sum of (a[m, k] + a.offset) * (b[n, k] + b.offset) over k)). Columns have
// scales of their own if `multipliers` and `shifts` are given.
struct Int8Product {
  Int8Rows a, b;
  int64_t rows, columns, inner;
  const int32_t* start = nullptr;  // one per column, or nullptr: 0
  Requantization scale{};
  const int32_t *multipliers = nullptr, *shifts = nullptr;
  OutputCodes codes;

  // Whether four columns can be computed at a time.
  [[nodiscard]] bool fits_fours() const;
  void write_to(int8_t* out, bool in_fours) const;
};

// The axis order of an image tensor: [N, C, H, W] or [N, H, W, C].
enum class Axes : uint8_t { kNchw, kNhwc };
bool image_of(const Tensor& tensor, Axes axes, Image& image);

}  // namespace carina::runtime
