#include "quantize/weight_parameters_internal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

#include "base/memory/prefetch.h"
#include "quantize/range_observer_internal.h"

namespace carina::quantize {

namespace {

// Returns the largest magnitude, which is infinite or NaN if an element is. Magnitudes are compared by their bits, of
// which those of infinities and NaN are the largest. The loops have lanes, so that compilers vectorize them.
float magnitude_of(std::span<const float> values) {
  constexpr size_t kLanes = 16;
  constexpr int32_t kMagnitude = 0x7FFFFFFF;
  const auto bits_of = [](float value) { return std::bit_cast<int32_t>(value) & kMagnitude; };
  std::array<int32_t, kLanes> max{};
  const size_t whole = values.size() - values.size() % kLanes;
  static_assert(kLanes * sizeof(float) == kLineBytes);
  for (size_t i = 0; i < whole; i += kLanes) {
    prefetch_ahead(values.data() + i);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const int32_t bits = bits_of(values[i + lane]);
      max[lane] = bits > max[lane] ? bits : max[lane];
    }
  }
  int32_t bits = *std::ranges::max_element(max);
  for (size_t i = whole; i < values.size(); ++i) bits = std::max(bits, bits_of(values[i]));
  return std::bit_cast<float>(bits);
}

float larger(float a, float b) {
  return a > b || std::isnan(a) ? a : b;
}

// Returns the largest magnitude of all elements, or of each index of `axis`.
std::vector<float> magnitudes_of(const Tensor& weight, int axis, Granularity granularity) {
  const auto values = weight.values<float>();
  if (granularity == Granularity::kPerTensor) return {magnitude_of(values)};
  const auto count = static_cast<size_t>(weight.shape[static_cast<size_t>(axis)]);
  size_t run = 1;  // consecutive elements of one index
  for (size_t i = static_cast<size_t>(axis) + 1; i < weight.shape.rank(); ++i)
    run *= static_cast<size_t>(weight.shape[i]);
  std::vector<float> magnitudes(count, 0);
  for (size_t i = 0; i < values.size(); i += run) {
    float& magnitude = magnitudes[i / run % count];
    magnitude = larger(magnitude_of(values.subspan(i, run)), magnitude);
  }
  return magnitudes;
}

}  // namespace

std::optional<Quantization> weight_parameters(const Tensor& weight, int axis, const WeightScheme& integers,
                                              double smallest_scale) {
  const std::vector<float> magnitudes = magnitudes_of(weight, axis, integers.granularity);
  if (!std::ranges::all_of(magnitudes, [](float magnitude) { return std::isfinite(magnitude); })) return std::nullopt;
  Quantization q{.dtype = integers.dtype,
                 .scales = {},
                 .zero_points = std::vector<int64_t>(magnitudes.size(), 0),
                 .axis = integers.granularity == Granularity::kPerTensor ? Quantization::kPerTensor : axis,
                 .qmin = integers.qmin,
                 .qmax = integers.qmax};
  for (const float magnitude : magnitudes)
    q.scales.push_back(symmetric_scale(magnitude, integers.qmax, smallest_scale));
  return q;
}

Quantization bias_parameters(const Quantization& input, const Quantization& weight, int64_t channels) {
  const DType accumulator = input.dtype == DType::kInt16 ? DType::kInt48 : DType::kInt32;
  const int64_t largest = range_of(accumulator).max;
  Quantization q{.dtype = accumulator,
                 .scales = {},
                 .zero_points = {},
                 .axis = weight.per_channel() ? 0 : Quantization::kPerTensor,
                 .qmin = -largest,
                 .qmax = largest};
  const auto count = weight.per_channel() ? static_cast<size_t>(channels) : size_t{1};
  for (size_t c = 0; c < count; ++c) q.scales.push_back(weight.scales[c % weight.scales.size()] * input.scale());
  q.zero_points.assign(count, 0);
  return q;
}

WeightScheme weight_scheme_for(const Quantization& input, const Quantization& result, const WeightScheme& wanted) {
  const bool is_too_narrow = wanted.dtype == DType::kInt4 && input.dtype == DType::kInt16;
  if (!is_too_narrow && wanted.dtype != DType::kInt16) return wanted;
  WeightScheme int8 = wanted;
  int8.dtype = DType::kInt8;
  int8.qmin = -127;
  int8.qmax = 127;
  if (wanted.dtype != DType::kInt16 || result.dtype != DType::kInt16) return int8;
  int8.mean_error = MeanError::kKept;  // the second layer has it
  return int8;
}

}  // namespace carina::quantize
