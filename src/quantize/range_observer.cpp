#include "quantize/range_observer_internal.h"

#include <algorithm>
#include <cmath>

namespace carina::quantize {

namespace {

constexpr int64_t kMaxBins = 4096;
constexpr size_t kCandidates = 96;  // of each end of the range
constexpr double kSteps = 255;      // of int8

float finite(float value) { return std::clamp(value, -3e38F, 3e38F) == value ? value : value > 0 ? RangeObserver::kPlusInfinity : RangeObserver::kMinusInfinity; }

int64_t bin_of(double value, int width_log2) { return static_cast<int64_t>(std::floor(std::ldexp(value, -width_log2))); }

// Sums over the bins up to each edge: how many elements, their sum and their sum of squares (at the bins' centres).
struct Moments {
  double count = 0;
  double sum = 0;
  double squares = 0;
};

// The square error of all elements of a part of the histogram when they are clipped to `limit`.
double clipping_error(const Moments& part, double limit) { return part.squares - 2 * limit * part.sum + limit * limit * part.count; }

Moments operator-(const Moments& a, const Moments& b) { return {.count = a.count - b.count, .sum = a.sum - b.sum, .squares = a.squares - b.squares}; }

// At most kCandidates edges from `from` to `to`, both among them.
std::vector<size_t> candidates(size_t from, size_t to) {
  const size_t span = to > from ? to - from : from - to;
  const size_t count = std::min(span, kCandidates - 1);
  std::vector<size_t> edges{from};
  for (size_t i = 1; i <= count; ++i) {
    const size_t step = span * i / count;
    edges.push_back(to > from ? from + step : from - step);
  }
  return edges;
}

}  // namespace

bool RangeObserver::observe(std::span<const float> elements) {
  if (elements.empty()) return true;
  float min = finite(elements.front()), max = min;
  uint64_t zeros = 0;
  bool numbers = true;
  for (const float raw : elements) {
    const float value = finite(raw);
    numbers &= raw == raw;
    min = std::min(min, value);
    max = std::max(max, value);
    zeros += value == 0 ? 1 : 0;
  }
  if (!numbers) return false;
  cover(min, max);
  const double scale = std::ldexp(1.0, -width_log2_);
  const auto last = static_cast<int64_t>(counts_.size()) - 1;
  for (const float raw : elements) {
    const int64_t bin = static_cast<int64_t>(std::floor(static_cast<double>(finite(raw)) * scale)) - first_;
    ++counts_[static_cast<size_t>(std::clamp<int64_t>(bin, 0, last))];
  }
  count_ += elements.size();
  zeros_ += zeros;
  return true;
}

// Makes the histogram reach from `min` to `max` and 0 in at most kMaxBins bins.
void RangeObserver::cover(float min, float max) {
  min_ = counts_.empty() ? min : std::min(min_, min);
  max_ = counts_.empty() ? max : std::max(max_, max);
  const double low = std::min(0.0F, min_), high = std::max(0.0F, max_);
  if (counts_.empty()) width_log2_ = high > low ? std::ilogb(high - low) - 11 : -20;
  const auto bins = [&] { return bin_of(high, width_log2_) - bin_of(low, width_log2_) + 1; };
  while (bins() > kMaxBins) halve_resolution();
  const int64_t first = bin_of(low, width_log2_);
  std::vector<uint64_t> wider(static_cast<size_t>(bins()), 0);
  for (size_t i = 0; i < counts_.size(); ++i) wider[static_cast<size_t>(first_ - first) + i] += counts_[i];
  first_ = first;
  counts_ = std::move(wider);
}

void RangeObserver::halve_resolution() {
  ++width_log2_;
  if (counts_.empty()) return;
  const auto half = [](int64_t index) { return index >= 0 ? index / 2 : (index - 1) / 2; };
  const int64_t first = half(first_);
  const int64_t last = half(first_ + static_cast<int64_t>(counts_.size()) - 1);
  std::vector<uint64_t> merged(static_cast<size_t>(last - first + 1), 0);
  for (size_t i = 0; i < counts_.size(); ++i) merged[static_cast<size_t>(half(first_ + static_cast<int64_t>(i)) - first)] += counts_[i];
  first_ = first;
  counts_ = std::move(merged);
}

Range RangeObserver::choose(RangeChoice choice) const {
  if (choice == RangeChoice::kHistogram && count_ > zeros_) return least_square_error();
  return {.min = std::min(0.0F, min_), .max = std::max(0.0F, max_)};
}

// Rounding inside the range costs scale^2 / 12 an element on average; outside it, clipping costs the square of the
// distance. Elements that are exactly zero cost nothing.
Range RangeObserver::least_square_error() const {
  const double width = std::ldexp(1.0, width_log2_);
  std::vector<Moments> below(counts_.size() + 1);  // of all bins before an edge
  for (size_t i = 0; i < counts_.size(); ++i) {
    const int64_t bin = first_ + static_cast<int64_t>(i);
    const double centre = (static_cast<double>(bin) + 0.5) * width;
    const auto count = static_cast<double>(bin == 0 ? counts_[i] - zeros_ : counts_[i]);
    below[i + 1] = {.count = below[i].count + count, .sum = below[i].sum + count * centre, .squares = below[i].squares + count * centre * centre};
  }
  const auto value_at = [&](size_t edge) { return std::clamp((static_cast<double>(first_) + static_cast<double>(edge)) * width, std::min(0.0, double{min_}), std::max(0.0, double{max_})); };
  const auto zero = static_cast<size_t>(-first_);
  Range best{.min = std::min(0.0F, min_), .max = std::max(0.0F, max_)};
  double least = INFINITY;
  for (const size_t low : candidates(0, zero)) {
    for (const size_t high : candidates(counts_.size(), zero)) {
      const double scale = (value_at(high) - value_at(low)) / kSteps;
      if (scale <= 0) continue;
      const double error = clipping_error(below[low], value_at(low)) + clipping_error(below.back() - below[high], value_at(high)) +
                           (below[high].count - below[low].count) * scale * scale / 12;
      if (error < least) {
        least = error;
        best = {.min = value_at(low), .max = value_at(high)};
      }
    }
  }
  return best;
}

Quantization affine_parameters(Range range, double smallest_scale) {
  const float min = std::min(static_cast<float>(range.min), 0.0F), max = std::max(static_cast<float>(range.max), 0.0F);
  const float scale = std::max((max - min) / static_cast<float>(kSteps), static_cast<float>(smallest_scale));
  const int64_t zero_point = -128 - static_cast<int64_t>(std::nearbyint(min / scale));
  return {.dtype = DType::kInt8, .scales = {scale}, .zero_points = {std::clamp<int64_t>(zero_point, -128, 127)}, .axis = Quantization::kPerTensor, .qmin = -128, .qmax = 127};
}

double symmetric_scale(double magnitude, double smallest_scale) {
  return std::max(static_cast<float>(magnitude) / 127.0F, static_cast<float>(smallest_scale));
}

}  // namespace carina::quantize
