#include <algorithm>
#include <cmath>

#include "frontend/tflite/kernels/hybrid_internal.h"

namespace carina::tflite {

QuantizedInput with_zero_point(std::span<const float> x) {
  constexpr float kMin = -128, kMax = 127;
  QuantizedInput out{.values = std::vector<int8_t>(x.size())};
  const auto [min, max] = std::ranges::minmax(x);
  const float low = std::min(min, 0.0F), high = std::max(max, 0.0F);
  if (low == high) return out;
  const float scale = (high - low) / (kMax - kMin);
  const float from_low = kMin - low / scale, from_high = kMax - high / scale;
  const float error_low = -kMin + std::abs(low / scale), error_high = kMax + std::abs(high / scale);
  const float zero = std::clamp(std::round(error_low < error_high ? from_low : from_high), kMin, kMax);
  out.scale = scale;
  out.zero_point = static_cast<int32_t>(zero);
  const float inverse = 1.0F / out.scale;
  std::ranges::transform(x, out.values.begin(), [&](float value) {
    const float steps = std::round(static_cast<float>(out.zero_point) + value * inverse);
    return static_cast<int8_t>(std::clamp(steps, kMin, kMax));
  });
  return out;
}

QuantizedInput symmetric(std::span<const float> x) {
  constexpr float kMax = 127;
  QuantizedInput out{.values = std::vector<int8_t>(x.size())};
  const auto [min, max] = std::ranges::minmax(x);
  const float range = std::max(std::abs(min), std::abs(max));
  if (range == 0) return out;
  out.scale = range / kMax;
  const float inverse = kMax / range;
  std::ranges::transform(x, out.values.begin(), [&](float value) {
    return static_cast<int8_t>(std::clamp(std::round(value * inverse), -kMax, kMax));
  });
  return out;
}

}  // namespace carina::tflite
