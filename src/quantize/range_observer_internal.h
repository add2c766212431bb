#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/micro/extremes.h"
#include "quantize/scheme.h"
#include "tensor/quantization.h"

// The observed range of a value, with a histogram.
//   Example: the bins have the width 2^-3. A tensor with larger numbers doubles the width until its range fits: 2^-2,
//   2^-1, ... Each time, two neighbors become one bin.
namespace carina::quantize {

struct Range {
  double min = 0;
  double max = 0;
};

// The observed range of a value, or of several values that share their parameters: minimum, maximum and a histogram.
// The width of the bins is a power of two. When the histogram is widened, bins merge exactly, so the order of the
// tensors does not matter.
class RangeObserver {
 public:
  // Adds elements. Infinities, and the limits of fp32 that represent them, are masks: they count as elements at a
  // distance of kMasked from the farthest other element. Returns false if an element is NaN.
  bool observe(std::span<const float> elements);
  // Adds elements whose extremes are known. If there are more than `enough` (at least 1), the histogram counts about
  // `enough` of them, each for several neighbors. The choice depends only on the number of elements.
  bool observe(std::span<const float> elements, const kernels::Extremes& extremes, size_t enough);
  // Adds elements of which those from `limit` down are masks: they count as `low`. Returns false if one is NaN.
  bool observe_masked(std::span<const float> elements, float limit, float low);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  // Returns the least and the largest element.
  [[nodiscard]] Range seen() const { return {.min = min_, .max = max_}; }
  // Returns the number of elements, nearly.
  [[nodiscard]] uint64_t count() const { return count_; }
  // Returns how many elements other than 0 are below `limit`, a positive number. Nearly: the elements of a bin are
  // taken as evenly spread.
  [[nodiscard]] double count_below(double limit) const;
  // Returns the range that the integers with this number of steps should cover. It contains zero.
  [[nodiscard]] Range choose(RangeChoice choice, int64_t steps) const;
  // Returns whether there was an element -infinity, or the lowest fp32, which represents it.
  [[nodiscard]] bool has_low_infinities() const { return has_low_infinities_; }
  // Returns whether a single distant number, such as the -1e9 of a mask, takes nearly all of the range, so that only a
  // few steps of int8 remain for the other elements.
  [[nodiscard]] bool is_swamped() const;
  // Returns the whole observed range, extended by one step at its lower end. The lowest integer then represents only
  // -infinity.
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
  float average_min_ = 0;  // moving averages over the tensors, in which a new one counts 1 %
  float average_max_ = 0;
  int width_log2_ = 0;            // bins are [i, i + 1) * 2^width_log2
  int64_t first_ = 0;             // index of the first bin
  std::vector<uint64_t> counts_;  // empty before the first element
};

// Returns the parameters of a range, in the float32 arithmetic of PyTorch's observers: scale = width / steps, limited
// to the smallest scale; a zero point with which 0 is exact. Source: torch.ao.quantization
// UniformQuantizationObserverBase.
Quantization activation_parameters(Range range, const NodeScheme& scheme);
// Returns the scale of symmetric integers whose largest is `qmax`.
double symmetric_scale(double magnitude, int64_t qmax, double smallest_scale);

}  // namespace carina::quantize
