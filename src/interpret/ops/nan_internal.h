#pragma once

#include <cmath>

#include "interpret/kernel_internal.h"

// Comparisons of floats with TOSA's NaN modes.
namespace carina::interpret {

// TOSA's nan_mode. Source: TOSA 1.0, section 1.10.2.
enum class NanMode { kPropagate = 1, kIgnore = 2 };
inline NanMode nan_mode_of(const NodePlan& plan) {
  return static_cast<NanMode>(plan.node.attributes.integer("nan_mode"));
}

// The larger operand. A NaN always wins (kPropagate) or loses against any number (kIgnore).
template <NanMode Mode>
float float_max(float a, float b) {
  // The code has no branches, so that compilers vectorize its loops. A comparison with NaN is false.
  if constexpr (Mode == NanMode::kPropagate) return static_cast<int>(a >= b) | static_cast<int>(a != a) ? a : b;
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return a >= b ? a : b;
}
template <NanMode Mode>
float float_min(float a, float b) {
  if constexpr (Mode == NanMode::kPropagate) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  } else {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
  }
  return a < b ? a : b;
}

}  // namespace carina::interpret
