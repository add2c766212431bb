#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/call_internal.h"
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

inline Requantization requantization(Call& call, size_t multiplier) {
  const Requantization scale{.multiplier = call.integer(multiplier), .shift = call.integer(multiplier + 1)};
  call.require(scale.is_sane());
  return scale;
}

// The axis order of an image tensor: [N, C, H, W] or [N, H, W, C].
enum class Axes : uint8_t { kNchw, kNhwc };
bool image_of(const Tensor& tensor, Axes axes, Image& image);

}  // namespace carina::runtime
