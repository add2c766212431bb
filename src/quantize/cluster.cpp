#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "quantize/cluster_internal.h"
#include "quantize/weight_rounding_internal.h"

namespace carina::quantize {

namespace {

constexpr int kIntegers = 256, kZero = 128;  // index of an integer: integer + kZero

// How often each integer occurs, by the square of its step: what it costs to move it by one.
using Histogram = std::array<double, kIntegers>;

// Costs of runs of integers, in constant time each.
class Runs {
 public:
  explicit Runs(const Histogram& histogram) {
    for (size_t i = 0; i < kIntegers; ++i) {
      const auto value = static_cast<double>(i);
      counts_[i + 1] = counts_[i] + histogram[i];
      sums_[i + 1] = sums_[i] + histogram[i] * value;
      squares_[i + 1] = squares_[i] + histogram[i] * value * value;
    }
  }

  // The integer with the least square error for the run [first, end).
  [[nodiscard]] int center(size_t first, size_t end) const {
    const double count = counts_[end] - counts_[first];
    return count <= 0 ? static_cast<int>(first) : static_cast<int>(std::lround((sums_[end] - sums_[first]) / count));
  }
  [[nodiscard]] double cost(size_t first, size_t end) const {
    const double to = center(first, end);
    return squares_[end] - squares_[first] - 2 * to * (sums_[end] - sums_[first]) +
           to * to * (counts_[end] - counts_[first]);
  }

 private:
  std::array<double, kIntegers + 1> counts_{}, sums_{}, squares_{};
};

// The integer that each integer becomes.
std::array<int8_t, kIntegers> centers_of(const Histogram& histogram, int clusters) {
  const Runs runs(histogram);
  std::vector<std::array<double, kIntegers + 1>> least(static_cast<size_t>(clusters) + 1);  // by clusters, then end
  std::vector<std::array<size_t, kIntegers + 1>> begin(least.size());
  least[0].fill(std::numeric_limits<double>::infinity());
  least[0][0] = 0;
  for (size_t c = 1; c < least.size(); ++c) {
    for (size_t end = 0; end <= kIntegers; ++end) {
      least[c][end] = least[c - 1][end];
      begin[c][end] = end;  // an empty run
      for (size_t first = 0; first < end; ++first) {
        const double cost = least[c - 1][first] + runs.cost(first, end);
        if (cost >= least[c][end]) continue;
        least[c][end] = cost;
        begin[c][end] = first;
      }
    }
  }
  std::array<int8_t, kIntegers> centers{};
  size_t end = kIntegers;
  for (size_t c = least.size() - 1; c > 0; --c) {
    const size_t first = begin[c][end];
    for (size_t i = first; i < end; ++i) centers[i] = static_cast<int8_t>(runs.center(first, end) - kZero);
    end = first;
  }
  return centers;
}

}  // namespace

Tensor clustered(const Tensor& weights, const Quantization& q, int clusters) {
  const auto channels = static_cast<size_t>(weights.shape[0]);
  const size_t terms = static_cast<size_t>(weights.shape.elements()) / std::max<size_t>(channels, 1);
  MutableTensor result(q.dtype, Shape(weights.shape));
  const auto to = result.values<int8_t>();
  Histogram histogram{};
  std::vector<float> steps(terms);
  for (size_t c = 0; c < channels; ++c) {
    const double scale = q.scales[q.per_channel() ? c : 0];
    const auto row = to.subspan(c * terms, terms);
    if (weights.dtype == DType::kFp32) {
      round_channel(weights.values<float>().subspan(c * terms, terms), scale, q, steps);
      std::ranges::transform(steps, row.begin(), [](float step) { return static_cast<int8_t>(step); });
    } else {
      std::ranges::copy(weights.values<int8_t>().subspan(c * terms, terms), row.begin());
    }
    for (const int8_t integer : row) histogram[static_cast<size_t>(integer + kZero)] += scale * scale;
  }
  const std::array<int8_t, kIntegers> centers = centers_of(histogram, clusters);
  for (int8_t& integer : to) integer = centers[static_cast<size_t>(integer + kZero)];
  return std::move(result).freeze();
}

}  // namespace carina::quantize
