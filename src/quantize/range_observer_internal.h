#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quantize/scheme.h"
#include "simd/extremes.h"
#include "tensor/quantization.h"

namespace carina::quantize {

struct Range {
  double min = 0;
  double max = 0;
};

// What calibration saw of a value, or of several that share their parameters: least, greatest, and a histogram whose
// bins are multiples of a power of two, so that widening it merges bins exactly and the order of the tensors does not
// matter.
class RangeObserver {
 public:
  // Adds the elements. Infinities, and the limits of fp32 that stand for them, are masks: they count as lying kMasked
  // from the farthest other element. Returns false when one is no number.
  bool observe(std::span<const float> elements);
  // The same, given their extremes. Of more than `enough` elements (at least 1) the histogram counts about so many, each
  // for several of its neighbors: which ones depends on the numbers of elements alone.
  bool observe(std::span<const float> elements, const simd::Extremes& extremes, size_t enough);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  // The range that the integers, in so many steps, are to cover; zero always lies inside.
  [[nodiscard]] Range choose(RangeChoice choice, int64_t steps) const;
  // Whether -infinity was among the elements, or the lowest fp32, which stands for it.
  [[nodiscard]] bool has_low_infinities() const { return has_low_infinities_; }
  // Whether one number far away from all others, such as a mask's -1e9, takes nearly all of the range: what is left for
  // the others is a few steps of int8.
  [[nodiscard]] bool is_swamped() const;
  // All that was seen, and a step below it: the lowest integer stands for nothing but -infinity.
  [[nodiscard]] Range with_step_for_infinity(int64_t steps) const;

  // exp(-16) is 1e-7, which an int8 or int16 softmax rounds to 0. (The Arm quantizer replaces infinities by -256 and
  // 255, which makes the scale of the other values coarser. Source: docs/facts/arm_backend.md 1.2, quantize_inf.)
  static constexpr float kMasked = 16;
  static constexpr float kBoundless = 3e38F;

 private:
  void cover(float min, float max);
  void count(std::span<const float> elements, size_t enough);
  void halve_resolution();
  [[nodiscard]] Range min_square_error(int64_t steps, double clipping) const;
  [[nodiscard]] Range percentile() const;
  void average(float min, float max);

  bool has_low_infinities_ = false;
  uint64_t count_ = 0;
  uint64_t zeros_ = 0;  // exactly 0, which every choice of parameters represents exactly
  float min_ = 0;
  float max_ = 0;
  float average_min_ = 0;  // of the tensors seen, each new one counting 1 %
  float average_max_ = 0;
  int width_log2_ = 0;            // bins are [i, i + 1) * 2^width_log2
  int64_t first_ = 0;             // index of the first bin
  std::vector<uint64_t> counts_;  // empty before the first element
};

// Parameters of a range, in the float32 arithmetic of PyTorch's observers: scale = width / steps, not less than the
// smallest; zero point such that 0 is exact. Source: torch.ao.quantization UniformQuantizationObserverBase.
Quantization activation_parameters(Range range, const NodeScheme& scheme);
// The scale of symmetric integers up to `qmax`.
double symmetric_scale(double magnitude, int64_t qmax, double smallest_scale);

}  // namespace carina::quantize
