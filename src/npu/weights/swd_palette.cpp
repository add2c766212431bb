#include <algorithm>
#include <bit>
#include <bitset>
#include <utility>

#include "npu/weights/swd_plan_internal.h"

// Chooses the palette of a section of weights: the most frequent values are coded as short indices, the others with an
// offset. The cheapest of several sizes is taken.
//   Example: weights that are 0, 1 or -1 in nine of ten cases take a palette of 3 entries: indices of at most 2 bits.
namespace carina::npu::swd {

namespace {

constexpr size_t kMaxCandidates = kMaxPaletteSize + 1;  // palette entries and zero, which may be coded as runs

// The folded weights of a section, with or without the zeros.
struct Folded {
  std::span<const uint32_t> count;
  std::span<const uint16_t> frequent;  // sorted by frequency, then by value
  size_t distinct = 0;                 // number of distinct values; `frequent` may have fewer
  int max = 0;
  uint64_t sum = 0;
  std::array<uint32_t, kFoldedValues + 1> at_least = {};  // at_least[v]: number of weights >= v
  ZeroRuns zero_runs = ZeroRuns::kNo;

  [[nodiscard]] uint64_t values() const { return at_least[0]; }
  [[nodiscard]] uint32_t reaching(int value) const {
    return value > max ? 0 : at_least[static_cast<size_t>(std::max(value, 0))];
  }
  [[nodiscard]] uint32_t times(int value) const { return count[static_cast<size_t>(value)]; }
};

Folded all_of(const Statistics& statistics, std::span<const uint16_t> frequent, size_t distinct) {
  Folded folded{.count = statistics.count, .frequent = frequent, .distinct = distinct};
  folded.max = static_cast<int>(std::max<size_t>(statistics.end, 1)) - 1;
  uint32_t at_least = 0;
  for (size_t f = statistics.end; f-- > 0;) {
    at_least += statistics.count[f];
    folded.at_least[f] = at_least;
    if (f > 0) folded.sum += at_least;
  }
  return folded;
}

uint64_t palette_bits(const Palette& palette) {
  return kPaletteHeaderBits + static_cast<uint64_t>(palette.size * palette.bits);
}

// A palette of the most frequent folded weights. The other weights are coded with an offset: the length of the run of
// small values that the palette covers. Palettes are tried from the smallest to the largest, and each continues from
// the one before it.
class GrowingPalette {
 public:
  explicit GrowingPalette(const Folded& folded) : folded_(folded) {
    for (size_t f = 0; f <= kMaxDirectOffset; ++f)
      skipped_[f] = (f == 0 && folded.zero_runs == ZeroRuns::kYes) || folded.times(static_cast<int>(f)) == 0;
    finish();
  }
  void grow(size_t size) {
    for (auto i = static_cast<size_t>(palette_.size); i < size; ++i) {
      const uint16_t f = folded_.frequent[i];
      palette_.entries[i] = f;
      covered_.set(f);
      if (f <= kMaxDirectOffset) skipped_.set(f);
      largest_ = std::max<int>(largest_, f);
      covered_weights_ += folded_.times(f);
      moved_back_ += int64_t{folded_.times(f)} * (static_cast<int64_t>(i) - f);
    }
    palette_.size = static_cast<int>(size);
    finish();
  }
  [[nodiscard]] const Palette& palette() const { return palette_; }
  // The constant that is added to a weight that is no entry.
  [[nodiscard]] int moved() const { return palette_.size - palette_.direct_offset; }
  // The sum of all coded values.
  [[nodiscard]] uint64_t sum() const {
    const auto others = static_cast<int64_t>(folded_.values()) - covered_weights_;
    return static_cast<uint64_t>(static_cast<int64_t>(folded_.sum) + moved() * others + moved_back_);
  }
  // The largest coded value.
  [[nodiscard]] int max() {
    while (rest_ > 0 && (covered_[static_cast<size_t>(rest_)] || folded_.times(rest_) == 0)) --rest_;
    const bool has_rest = static_cast<size_t>(palette_.size) < folded_.distinct;
    return std::max({has_rest ? rest_ + moved() : 0, palette_.size - 1, 0});
  }

 private:
  void finish() {
    const auto skipped = static_cast<uint32_t>(skipped_.to_ulong());
    palette_.direct_offset = std::min(std::countr_one(skipped), kMaxDirectOffset);
    // The width of an entry, or that of an uncompressed value if there is no palette.
    const int none = folded_.distinct == 0 ? 0 : folded_.max - palette_.direct_offset;
    const int largest = palette_.size == 0 ? none : largest_;
    palette_.bits = std::max<int>(std::bit_width(static_cast<unsigned>(largest)), kPaletteBitsBias);
  }

  const Folded& folded_;
  Palette palette_;
  std::bitset<kFoldedValues> covered_;
  std::bitset<kMaxDirectOffset + 1> skipped_;  // small values that are entries, or do not occur
  int largest_ = 0;                            // entry
  int64_t covered_weights_ = 0;                // the number of weights that are entries
  int64_t moved_back_ = 0;                     // the sum of their coded values less the weights
  int rest_ = folded_.max;                     // the largest weight that is no entry
};

// The coded values of folded weights with a palette: an entry's index, or the weight plus a constant if it is no entry.
class Values {
 public:
  Values(const Folded& folded, GrowingPalette& growing)
      : folded_(folded),
        palette_(growing.palette()),
        moved_(growing.moved()),
        sum_(growing.sum()),
        max_(growing.max()) {}

  // The size in bits of the cheapest code if it is below `limit`. Otherwise any number that is at least `limit`.
  [[nodiscard]] uint64_t min_bits(uint64_t limit) const {
    const uint64_t values = folded_.values();
    uint64_t min = std::min(limit, bits_of({.values = values, .max = static_cast<uint32_t>(max_)},
                                           weight_code(kWeightCodes - 1), palette_));
    for (int d = kMaxWdiv; d >= 0; --d) {
      if (lower_bound_of(d) >= min) continue;
      const bool truncated = max_ >> d <= 2;
      const uint64_t bits = values * (1 + static_cast<uint64_t>(d)) + quotients(d) - (truncated ? twos(d) : 0);
      min = std::min(min, bits);
    }
    return min;
  }

 private:
  [[nodiscard]] int entry(int index) const { return palette_.entries[static_cast<size_t>(index)]; }

  // A lower bound of the size. A quotient differs by less than 1 from value / divisor, and truncation saves at most
  // half of the sum of the quotients.
  [[nodiscard]] uint64_t lower_bound_of(int d) const {
    const uint64_t values = folded_.values(), lacking = values * ((uint64_t{1} << d) - 1);
    const uint64_t quotients = sum_ > lacking ? (sum_ - lacking) >> d : 0;
    return values * (1 + static_cast<uint64_t>(d)) + (max_ >> d <= 2 ? (quotients + 1) / 2 : quotients);
  }

  // The sum of all quotients. It is the number of pairs (value, multiple of the divisor) where the value reaches the
  // multiple.
  [[nodiscard]] uint64_t quotients(int d) const {
    int64_t sum = 0;
    for (int v = (1 << d) - moved_; v <= folded_.max; v += 1 << d) sum += folded_.reaching(v);
    for (int i = 0; i < palette_.size; ++i)
      sum += int64_t{folded_.times(entry(i))} * ((i >> d) - (std::max(entry(i) + moved_, 0) >> d));
    return static_cast<uint64_t>(sum);
  }
  [[nodiscard]] uint64_t twos(int d) const {
    int64_t twos = int64_t{folded_.reaching((2 << d) - moved_)} - folded_.reaching((3 << d) - moved_);
    for (int i = 0; i < palette_.size; ++i) {
      const int in_palette = i >> d == 2 ? 1 : 0, outside = (entry(i) + moved_) >> d == 2 ? 1 : 0;
      twos += int64_t{folded_.times(entry(i))} * (in_palette - outside);
    }
    return static_cast<uint64_t>(twos);
  }

  const Folded& folded_;
  const Palette& palette_;
  int moved_;
  uint64_t sum_;
  int max_;
};

void consider(const Statistics& statistics, const Folded& folded, Choice& best) {
  constexpr std::array<size_t, 12> kSizes{0, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32};
  const uint64_t run_bits = folded.zero_runs == ZeroRuns::kYes ? *std::ranges::min_element(statistics.run_bits) : 0;
  if (run_bits >= best.bits) return;
  GrowingPalette growing(folded);
  for (const size_t size : kSizes) {
    if (size > folded.distinct && size != 0 && size / 2 >= folded.distinct) break;
    const size_t entries = std::min(size, folded.distinct);
    if (entries > 1) growing.grow(entries);
    const uint64_t other_bits = run_bits + palette_bits(growing.palette()) + kSliceHeaderBits + kSliceTailBits;
    if (other_bits >= best.bits) continue;
    const uint64_t bits = Values(folded, growing).min_bits(best.bits - other_bits) + other_bits;
    if (bits < best.bits) best = {.bits = bits, .zero_runs = folded.zero_runs, .palette = growing.palette()};
  }
}

// All weights are zero. The code is one run and one weight of value 0, because each slice needs a weight.
void consider_all_zero(const Statistics& statistics, Choice& best) {
  const Palette palette;
  const uint64_t bits =
      *std::ranges::min_element(statistics.run_bits) + palette_bits(palette) + kSliceHeaderBits + kSliceTailBits;
  if (bits < best.bits) best = {.bits = bits, .zero_runs = ZeroRuns::kYes, .palette = palette};
}

struct Frequent {
  std::array<uint16_t, kMaxCandidates> values{};
  size_t count = 0;
  size_t distinct = 0;  // number of values that occur
};

// How many values occur how often. Higher counts than kMaxCount are not told apart.
constexpr size_t kMaxCount = 255;
using CountOfCounts = std::array<uint16_t, kMaxCount + 1>;

CountOfCounts count_counts(const Statistics& statistics) {
  CountOfCounts values{};
  for (size_t f = 0; f < statistics.end; ++f) ++values[std::min<size_t>(statistics.count[f], kMaxCount)];
  return values;
}

// The most frequent folded weights, sorted by frequency, then by value. Counts up to kMaxCount give a value's place at
// once. Values that occur more often are inserted, close to the end of the list, because small weights are mostly the
// most frequent.
//   Example: 2 values occur 5 times, 3 values 4 times: those with a count of 4 have places 2 to 4.
Frequent most_frequent_values(const Statistics& statistics) {
  Frequent result;
  CountOfCounts places = count_counts(statistics);
  result.distinct = statistics.end - places[0];
  const size_t often = std::min<size_t>(places[kMaxCount], kMaxCandidates);
  size_t least = kMaxCount, before = places[kMaxCount];
  while (least > 1 && before < kMaxCandidates) before += std::exchange(places[--least], static_cast<uint16_t>(before));
  result.count = std::min<size_t>(before, kMaxCandidates);
  std::array<uint64_t, kMaxCandidates> keys;
  size_t inserted = 0;
  for (size_t f = 0; f < statistics.end; ++f) {
    const uint32_t count = statistics.count[f];
    if (count < least) continue;
    if (count < kMaxCount) {
      const size_t place = places[count]++;
      if (place < kMaxCandidates) result.values[place] = static_cast<uint16_t>(f);
      continue;
    }
    const uint64_t key = uint64_t{count} << 16 | (kMaxFolded - f);
    if (inserted == kMaxCandidates && key < keys.back()) continue;
    size_t i = inserted < kMaxCandidates ? inserted++ : kMaxCandidates - 1;
    for (; i > 0 && keys[i - 1] < key; --i) keys[i] = keys[i - 1];
    keys[i] = key;
  }
  for (size_t i = 0; i < often; ++i) result.values[i] = static_cast<uint16_t>(kMaxFolded - (keys[i] & 0xFFFF));
  return result;
}

}  // namespace

Choice choose(const Statistics& statistics, uint64_t limit) {
  Frequent frequent = most_frequent_values(statistics);
  const auto all = std::span(frequent.values).first(frequent.count);
  Choice best{.bits = limit, .zero_runs = ZeroRuns::kNo, .palette = {}};
  Folded folded = all_of(statistics, all, frequent.distinct);
  consider(statistics, folded, best);
  const uint32_t zeros = statistics.count[0];
  if (zeros == 0) return best;
  if (zeros == folded.values()) {
    consider_all_zero(statistics, best);
    return best;
  }
  const auto without_zero = std::remove(all.begin(), all.end(), uint16_t{0});
  folded.frequent = all.first(static_cast<size_t>(without_zero - all.begin()));
  --folded.distinct;
  folded.at_least[0] -= zeros;
  folded.zero_runs = ZeroRuns::kYes;
  consider(statistics, folded, best);
  return best;
}

}  // namespace carina::npu::swd
