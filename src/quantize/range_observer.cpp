#include "quantize/range_observer_internal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/checked_math.h"
#include "base/parallel/parallel.h"
#include "quantize/vectors_internal.h"

// Finds the range of a value from a histogram of the elements that calibration saw.
//
// - Bins are as wide as a power of two, and bin edges are multiples of it. A larger element doubles the width until
//   4,096 bins are enough: pairs of bins are added, no element is counted twice and none moves. Example: elements from
//   0 to 1 have 2,049 bins of 2^-11. After an element of 5 they have 2,561 bins of 2^-9.
// - Of a large tensor only some lines of 16 elements are counted (Lattice); each counts for the lines that were
//   skipped.
// - Infinities, as in masks, count as numbers slightly outside of the range of the others.
// - choose() picks a range. For the smallest square error it needs, for each pair of ends, the error of clipping below
//   the one, above the other, and of rounding between them. Sums of count, value and square over all bins below an edge
//   give each of them in constant time. Example: 256 steps over [-1, 3] have a scale of 1/64; an element costs scale^2
//   / 12. An element of 4 that is clipped to 3 costs 1, weighted by 2.
//
// Time: one increment per counted element; choose() takes one addition per bin and at most 96 x 96 pairs of ends.
// Tried: other weights of clipping (kClipping), other rules (docs/adr/0034) and samples of tensors (docs/performance.md
// 5).
namespace carina::quantize {

namespace {

constexpr int64_t kMaxBins = 4096;
constexpr size_t kCandidates = 96;  // at each end of the range

// The elements of a tensor that a histogram counts. Small tensors are counted completely. Of large ones it counts one
// line of 16 elements out of `every` lines, at aperiodic positions (multiples of the golden ratio), so that all
// channels, columns and rows are represented.
struct Lattice {
  static constexpr size_t kLine = 16;
  static constexpr uint32_t kGolden = 2'654'435'769;  // 2^32 divided by the golden ratio
  size_t lines;
  size_t every;

  Lattice(size_t elements, size_t enough) : lines(elements / kLine), every(std::max<size_t>(elements / enough, 1)) {}

  // Returns the number of counted elements among `elements` elements.
  [[nodiscard]] size_t counted(size_t elements) const { return every == 1 ? elements : lines / every * kLine; }
  [[nodiscard]] size_t position(size_t line) const {
    const uint64_t turned = static_cast<uint32_t>(line) * kGolden;
    return (line * every + (turned * every >> 32)) * kLine;
  }
  // Returns the counted elements from number `at` on, a multiple of kLine. `to` is used to gather them, and its size is
  // their number. The next lines, which are not adjacent, are prefetched.
  [[nodiscard]] std::span<const float> block(std::span<const float> elements, size_t at, std::span<float> to) const {
    if (every == 1) return elements.subspan(at, to.size());
    for (size_t i = 0; i < to.size(); i += kLine) {
      const size_t ahead = position((at + i + to.size()) / kLine);
      if (ahead < elements.size()) __builtin_prefetch(elements.data() + ahead);
      std::copy_n(elements.data() + position((at + i) / kLine), kLine, to.data() + i);
    }
    return to;
  }
};

// The number of elements of each bin, and the number of elements that are exactly 0.
struct Counts {
  std::span<uint64_t> bins;
  uint64_t* zeros;
};

// An element is in bin value * scale - first, which is never negative.
struct Bins {
  double scale;
  double first;
  size_t count;
};

// Counts the lattice's elements from number `begin` to `end`. Bin indices are computed in blocks, with vector
// instructions. Counters alternate between several arrays, because equal elements are often adjacent.
class PartCount {
 public:
  PartCount(std::span<const float> elements, const Lattice& lattice, const Bins& bins, size_t begin, size_t end) {
    for (auto& turn : turns_) turn.assign(bins.count, 0);
    std::array<float, kBlock> gathered;
    std::array<int32_t, kBlock> indices;
    for (size_t i = begin; i < end; i += kBlock) {
      const size_t size = std::min(kBlock, end - i);
      const auto block = lattice.block(elements, i, {gathered.data(), size});
      find_bins(block, bins.scale, bins.first, indices.data());
      for (size_t k = 0; k < size; ++k) ++turns_[k % kTurns][static_cast<uint32_t>(indices[k])];
      zeros_ += zeros_among(block);
    }
  }
  // Adds the counts; each element counts `weight` times.
  void add_to(const Counts& counts, uint64_t weight) const {
    static_assert(kTurns == 4);
    for (size_t bin = 0; bin < counts.bins.size(); ++bin)
      counts.bins[bin] += weight * (turns_[0][bin] + turns_[1][bin] + turns_[2][bin] + turns_[3][bin]);
    *counts.zeros += weight * zeros_;
  }
  static constexpr size_t kBlock = 16 * Lattice::kLine;

 private:
  static constexpr size_t kTurns = 4;
  std::array<std::vector<uint32_t>, kTurns> turns_;
  uint64_t zeros_ = 0;
};

// The number of parts, a power of two. It is small, because each part has its own counters.
size_t parts_of(size_t total) {
  constexpr size_t kWorthDividing = size_t{1} << 16, kMaxParts = 8;
  return std::clamp<size_t>(std::bit_floor(total / kWorthDividing * 2), 1, kMaxParts);
}

void count_bins(std::span<const float> elements, const Lattice& lattice, const Bins& bins, const Counts& counts) {
  const size_t total = lattice.counted(elements.size());
  const size_t part = round_up((total + parts_of(total) - 1) / parts_of(total), PartCount::kBlock);
  std::vector<std::optional<PartCount>> found((total + part - 1) / part);
  parallel_for(found.size(),
               [&](size_t i) { found[i].emplace(elements, lattice, bins, i * part, std::min(total, (i + 1) * part)); });
  for (const auto& one : found) one->add_to(counts, lattice.every);
}

bool is_beyond(float value) {
  return std::abs(value) >= RangeObserver::kBoundless;
}

// Replaces masked elements (infinities) by values slightly outside of the range of the others.
std::vector<float> without_infinities(std::span<const float> elements) {
  float min = INFINITY, max = -INFINITY;
  for (const float value : elements) {
    if (is_beyond(value)) continue;
    min = std::min(min, value);
    max = std::max(max, value);
  }
  if (min > max) min = max = 0;
  const float low = std::min(min, max - RangeObserver::kMasked), high = std::max(max, min + RangeObserver::kMasked);
  std::vector<float> limited(elements.begin(), elements.end());
  for (float& value : limited) {
    if (is_beyond(value)) value = value > 0 ? high : low;
  }
  return limited;
}

int64_t bin_of(double value, int width_log2) {
  return static_cast<int64_t>(std::floor(std::ldexp(value, -width_log2)));
}

// Sums over the bins below each edge: the number of elements, their sum and their sum of squares (with the bins'
// centers).
struct Moments {
  double count = 0;
  double sum = 0;
  double squares = 0;
};

// Returns the square error of all elements of a part of the histogram if they are clipped to `limit`.
double clipping_error(const Moments& part, double limit) {
  return part.squares - 2 * limit * part.sum + limit * limit * part.count;
}

Moments operator-(const Moments& a, const Moments& b) {
  return {.count = a.count - b.count, .sum = a.sum - b.sum, .squares = a.squares - b.squares};
}

// Returns at most kCandidates edges between `from` and `to`, both included.
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
  return observe(elements, kernels::extremes_of(elements), std::max<size_t>(elements.size(), 1));
}

bool RangeObserver::observe(std::span<const float> elements, const kernels::Extremes& extremes, size_t enough) {
  if (elements.empty()) return true;
  if (!extremes.numbers) return false;
  if (is_beyond(extremes.min) || is_beyond(extremes.max)) {
    has_low_infinities_ |= extremes.min < 0 && is_beyond(extremes.min);
    return observe(without_infinities(elements));
  }
  average(extremes.min, extremes.max);
  cover(extremes.min, extremes.max);
  count(elements, enough);
  // the histogram may have skipped the extremes
  if (elements.size() >= 2 * enough) count(std::array{extremes.min, extremes.max}, 2);
  return true;
}

bool RangeObserver::observe_masked(std::span<const float> elements, float limit, float low) {
  std::vector<float> near(elements.begin(), elements.end());
  for (float& value : near) {
    if (value > limit) continue;
    has_low_infinities_ |= is_beyond(value);
    value = low;
  }
  return observe(near);
}

// Counts a sample of the elements. Each counted element represents its neighbors, which are skipped.
void RangeObserver::count(std::span<const float> elements, size_t enough) {
  const double scale = std::ldexp(1.0, -width_log2_), first = static_cast<double>(first_);
  constexpr size_t kMany = 4 * kMaxBins;
  if (elements.size() >= kMany) {
    const Lattice lattice(elements.size(), enough);
    count_bins(elements, lattice, {.scale = scale, .first = first, .count = counts_.size()},
               {.bins = counts_, .zeros = &zeros_});
    count_ += lattice.every * lattice.counted(elements.size());
  } else {
    for (const float value : elements) ++counts_[static_cast<uint32_t>(static_cast<double>(value) * scale - first)];
    zeros_ += zeros_among(elements);
    count_ += elements.size();
  }
}

// Updates the averages like PyTorch's MovingAverageMinMaxObserver.
void RangeObserver::average(float min, float max) {
  constexpr float kNew = 0.01F;
  average_min_ = empty() ? min : average_min_ + kNew * (min - average_min_);
  average_max_ = empty() ? max : average_max_ + kNew * (max - average_max_);
}

// Extends the histogram to contain `min`, `max` and 0 in at most kMaxBins bins.
void RangeObserver::cover(float min, float max) {
  min_ = counts_.empty() ? min : std::min(min_, min);
  max_ = counts_.empty() ? max : std::max(max_, max);
  const double low = std::min(0.0F, min_), high = std::max(0.0F, max_);
  // 2^11 to 2^12 bins. If there were only zeros so far, the bins are finer than any float needs.
  const int width_log2 = high > low ? std::ilogb(high - low) - 11 : -200;
  if (counts_.empty()) width_log2_ = width_log2;
  while (width_log2_ < width_log2) halve_resolution();
  const auto bins = [&] { return bin_of(high, width_log2_) - bin_of(low, width_log2_) + 1; };
  while (bins() > kMaxBins) halve_resolution();
  const int64_t first = bin_of(low, width_log2_);
  if (first == first_ && static_cast<size_t>(bins()) == counts_.size()) return;
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
  for (size_t i = 0; i < counts_.size(); ++i)
    merged[static_cast<size_t>(half(first_ + static_cast<int64_t>(i)) - first)] += counts_[i];
  first_ = first;
  counts_ = std::move(merged);
}

namespace {
// The weight of clipping errors. They have one sign and recur at the same elements, so unlike rounding errors they do
// not average out in later layers. 2 was the best of 1, 2, 4 and 16 on kws, resnet20 and mobilenet_v2.
constexpr double kClipping = 2;
}  // namespace

Range RangeObserver::choose(RangeChoice choice, int64_t steps) const {
  const Range all{.min = std::min(0.0F, min_), .max = std::max(0.0F, max_)};
  if (count_ == zeros_) return all;
  switch (choice) {
    case RangeChoice::kMinMax:
      break;
    case RangeChoice::kHistogram:
      return min_square_error(steps, kClipping);
    case RangeChoice::kMeasured:  // of a value alone, this is the best guess
    case RangeChoice::kSquareError:
      return min_square_error(steps, 1);
    case RangeChoice::kPercentile:
      return percentile();
    case RangeChoice::kMovingAverage:
      return {.min = std::min(0.0F, average_min_), .max = std::max(0.0F, average_max_)};
  }
  return all;
}

// Returns a range that ends at edges of bins, limited to the observed range.
Range RangeObserver::percentile() const {
  constexpr double kLeftOut = 0.5e-4;  // at each end
  const double width = std::ldexp(1.0, width_log2_), max_left_out = kLeftOut * static_cast<double>(count_);
  size_t low = 0, high = counts_.size();
  for (double out = static_cast<double>(counts_[low]); low + 1 < high && out <= max_left_out;)
    out += static_cast<double>(counts_[++low]);
  for (double out = static_cast<double>(counts_[high - 1]); high > low + 1 && out <= max_left_out;)
    out += static_cast<double>(counts_[--high - 1]);
  const auto edge = [&](size_t bin) { return (static_cast<double>(first_) + static_cast<double>(bin)) * width; };
  return {.min = std::min(0.0, std::max(edge(low), double{min_})),
          .max = std::max(0.0, std::min(edge(high), double{max_}))};
}

double RangeObserver::count_below(double limit) const {
  const double end = std::ldexp(limit, -width_log2_);  // in bins
  double below = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const int64_t bin = first_ + static_cast<int64_t>(i);
    const auto counted = static_cast<double>(bin == 0 ? counts_[i] - zeros_ : counts_[i]);
    below += counted * std::clamp(end - static_cast<double>(bin), 0.0, 1.0);
  }
  return below;
}

bool RangeObserver::is_swamped() const {
  const auto populated = [](uint64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(counts_, populated);
  const auto after = std::find_if_not(first, counts_.end(), populated);  // of the lower part
  const auto next = std::find_if(after, counts_.end(), populated);
  if (next == counts_.end()) return false;
  const auto last = std::find_if(counts_.rbegin(), counts_.rend(), populated).base();
  constexpr int64_t kPart = 16;
  const bool far = (next - after) * kPart >= (last - first) * (kPart - 1);
  const uint64_t above = std::accumulate(next, last, uint64_t{0});
  const int64_t first_above = first_ + (next - counts_.begin());
  if (last - next == 1 && first_above != 0) return false;  // two numbers, as of sign() or heaviside(): both are exact
  return far && max_ >= 0 && above > zeros_;               // zeros beside the number are a mask as such
}

Range RangeObserver::with_step_for_infinity(int64_t steps) const {
  const Range all = choose(RangeChoice::kMinMax, steps);
  return {.min = all.min - (all.max - all.min) / static_cast<double>(steps - 1), .max = all.max};
}

// Rounding inside the range costs scale^2 / 12 an element on average; outside it, clipping costs the square of the
// distance. Elements that are exactly zero cost nothing.
Range RangeObserver::min_square_error(int64_t steps, double clipping) const {
  const double width = std::ldexp(1.0, width_log2_);
  std::vector<Moments> below(counts_.size() + 1);  // of all bins before an edge
  for (size_t i = 0; i < counts_.size(); ++i) {
    const int64_t bin = first_ + static_cast<int64_t>(i);
    const double center = (static_cast<double>(bin) + 0.5) * width;
    const auto count = static_cast<double>(bin == 0 ? counts_[i] - zeros_ : counts_[i]);
    below[i + 1] = {.count = below[i].count + count,
                    .sum = below[i].sum + count * center,
                    .squares = below[i].squares + count * center * center};
  }
  const auto value_at = [&](size_t edge) {
    return std::clamp((static_cast<double>(first_) + static_cast<double>(edge)) * width, std::min(0.0, double{min_}),
                      std::max(0.0, double{max_}));
  };
  const auto zero = static_cast<size_t>(-first_);
  Range best{.min = std::min(0.0F, min_), .max = std::max(0.0F, max_)};
  double min_error = INFINITY;
  for (const size_t low : candidates(0, zero)) {
    for (const size_t high : candidates(counts_.size(), zero)) {
      const double scale = (value_at(high) - value_at(low)) / static_cast<double>(steps);
      if (scale <= 0) continue;
      const double error = clipping * clipping_error(below[low], value_at(low)) +
                           clipping * clipping_error(below.back() - below[high], value_at(high)) +
                           (below[high].count - below[low].count) * scale * scale / 12;
      if (error < min_error) {
        min_error = error;
        best = {.min = value_at(low), .max = value_at(high)};
      }
    }
  }
  return best;
}

Quantization activation_parameters(Range range, const NodeScheme& scheme) {
  const ActivationScheme& integers = scheme.activations;
  const float min = std::min(static_cast<float>(range.min), 0.0F), max = std::max(static_cast<float>(range.max), 0.0F);
  const auto smallest = static_cast<float>(scheme.smallest_scale);
  Quantization q{.dtype = integers.dtype,
                 .scales = {symmetric_scale(std::max(-min, max), integers.qmax, smallest)},
                 .zero_points = {0},
                 .axis = Quantization::kPerTensor,
                 .qmin = integers.qmin,
                 .qmax = integers.qmax};
  if (integers.symmetry == Symmetry::kSymmetric) return q;
  const float scale = std::max((max - min) / static_cast<float>(integers.steps()), smallest);
  const int64_t zero_point = integers.qmin - static_cast<int64_t>(std::nearbyint(min / scale));
  q.scales = {scale};
  q.zero_points = {std::clamp(zero_point, integers.qmin, integers.qmax)};
  return q;
}

double symmetric_scale(double magnitude, int64_t qmax, double smallest_scale) {
  return std::max(static_cast<float>(magnitude) / static_cast<float>(qmax), static_cast<float>(smallest_scale));
}

}  // namespace carina::quantize
