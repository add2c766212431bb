#include "npu/swd_plan_internal.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace carina::npu::swd {

ValueSums Histogram::into_sums(int first) && {
  // From here on: how often a value is at least so large. Of these, quotients are sums.
  for (uint32_t v = max_; v-- > 0;) times_[v] += times_[v + 1];
  const auto at_least = [&](uint32_t v) { return v <= max_ ? times_[v] : 0; };
  ValueSums sums{.values = times_[0], .max = max_};
  for (int d = 0; d <= kMaxWdiv; ++d) {
    uint64_t& quotients = sums.quotients[static_cast<size_t>(d)];
    quotients = d < first ? kImpossible : 0;
    if (d < first) continue;
    for (uint32_t v = 1u << d; v <= max_; v += 1u << d) quotients += times_[v];
    sums.twos[static_cast<size_t>(d)] = at_least(2u << d) - at_least(3u << d);
  }
  return sums;
}

namespace {

// How often each folded weight and each length of a zero run comes. With zero runs, the runs are counted by their cost
// at each divisor.
struct Statistics {
  std::array<uint32_t, kFoldedValues> count{};
  std::array<uint64_t, kMaxZdiv + 1> run_bits{};

  Statistics& operator+=(const Statistics& other) {
    for (size_t i = 0; i < count.size(); ++i) count[i] += other.count[i];
    for (size_t i = 0; i < run_bits.size(); ++i) run_bits[i] += other.run_bits[i];
    return *this;
  }
  void add_runs(uint32_t length, uint64_t times) {
    for (size_t d = 0; d < run_bits.size(); ++d) run_bits[d] += times * ((length >> d) + 1 + d);
  }
};

// The most frequent `size` folded weights as a palette; rare ones are offset by the run of small ones that the palette
// covers.
Palette make_palette(std::span<const uint16_t> by_frequency, const Statistics& statistics, size_t size,
                     ZeroRuns zero_runs) {
  Palette palette;
  size = std::min(size, by_frequency.size());
  if (size == 1) size = 0;
  palette.size = static_cast<int>(size);
  std::array<bool, kFoldedValues + 1> covered{};
  int largest = 0;
  for (size_t i = 0; i < size; ++i) {
    palette.entries[i] = by_frequency[i];
    covered[by_frequency[i]] = true;
    largest = std::max<int>(largest, by_frequency[i]);
  }
  const auto unused = [&](int f) {
    return (f == 0 && zero_runs == ZeroRuns::kYes) || statistics.count[static_cast<size_t>(f)] == 0;
  };
  while (palette.direct_offset < kMaxDirectOffset &&
         (covered[static_cast<size_t>(palette.direct_offset)] || unused(palette.direct_offset))) {
    ++palette.direct_offset;
  }
  // Without a palette the width is that of uncompressed values; with one, that of its entries.
  if (size == 0) largest = by_frequency.empty() ? 0 : *std::ranges::max_element(by_frequency) - palette.direct_offset;
  palette.bits = std::max<int>(std::bit_width(static_cast<unsigned>(largest)), kPaletteBitsBias);
  return palette;
}

uint64_t palette_bits(const Palette& palette) {
  return kPaletteHeaderBits + static_cast<uint64_t>(palette.size * palette.bits);
}

// The palette holds the first ones of `by_frequency`.
ValueSums sums_of(const Statistics& statistics, std::span<const uint16_t> by_frequency, const Palette& palette,
                  int first_divisor) {
  Histogram histogram;
  const auto size = static_cast<size_t>(palette.size);
  for (size_t i = 0; i < size; ++i) histogram.add(static_cast<uint32_t>(i), statistics.count[by_frequency[i]]);
  for (const uint16_t f : by_frequency.subspan(size))
    histogram.add(static_cast<uint32_t>(f + palette.size - palette.direct_offset), statistics.count[f]);
  return std::move(histogram).into_sums(first_divisor);
}

uint64_t least_bits(const ValueSums& sums, const Palette& palette) {
  uint64_t bits = kImpossible;
  for (int i = 0; i < kWeightCodes; ++i) bits = std::min(bits, bits_of(sums, weight_code(i), palette));
  return bits;
}

// As if the values were the ranks. No palette makes smaller ones: values differ, and no code takes less for a larger one.
ValueSums sums_of_ranks(const Statistics& statistics, std::span<const uint16_t> by_frequency) {
  Histogram histogram;
  for (size_t i = 0; i < by_frequency.size(); ++i)
    histogram.add(static_cast<uint32_t>(i), statistics.count[by_frequency[i]]);
  return std::move(histogram).into_sums(0);
}

// What the values take at least, and a palette of so many entries.
uint64_t least_bits_of_ranks(const ValueSums& ranks) {
  return least_bits(ranks, {.bits = static_cast<int>(std::bit_width(ranks.max))});
}
uint64_t least_palette_bits(size_t size) {
  const auto widest = static_cast<int>(std::bit_width(std::max<size_t>(size, 1) - 1));
  return kPaletteHeaderBits + size * static_cast<size_t>(std::max(widest, kPaletteBitsBias));
}

// The first divisor with which fewer than `limit` bits are thinkable.
int first_divisor(const ValueSums& ranks, const Palette& palette, uint64_t limit) {
  int d = 0;
  while (d < kMaxWdiv && bits_of(ranks, {.wdiv = d, .truncated = false}, palette) >= limit &&
         bits_of(ranks, {.wdiv = d, .truncated = true}, palette) >= limit)
    ++d;
  return d;
}

void consider(const Statistics& statistics, std::span<const uint16_t> by_frequency, ZeroRuns zero_runs, Choice& best) {
  constexpr std::array<size_t, 12> kSizes{0, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32};
  const uint64_t run_bits = zero_runs == ZeroRuns::kYes ? *std::ranges::min_element(statistics.run_bits) : 0;
  if (run_bits >= best.bits) return;
  const ValueSums ranks = sums_of_ranks(statistics, by_frequency);
  const uint64_t least = least_bits_of_ranks(ranks) + run_bits + kSliceHeaderBits + kSliceTailBits;
  for (const size_t size : kSizes) {
    if (size > by_frequency.size() && size != 0 && size / 2 >= by_frequency.size()) break;
    if (least + least_palette_bits(std::min(size, by_frequency.size())) >= best.bits) break;
    const Palette palette = make_palette(by_frequency, statistics, size, zero_runs);
    const uint64_t other_bits = run_bits + palette_bits(palette) + kSliceHeaderBits + kSliceTailBits;
    if (other_bits >= best.bits) continue;
    const int first = first_divisor(ranks, palette, best.bits - other_bits);
    const uint64_t bits = least_bits(sums_of(statistics, by_frequency, palette, first), palette) + other_bits;
    if (bits < best.bits) best = {.bits = bits, .zero_runs = zero_runs, .palette = palette};
  }
}

// Nothing but zeros: a run that ends in one weight of value 0, as each slice must have a weight.
void consider_all_zero(const Statistics& statistics, Choice& best) {
  const Palette palette;
  const uint64_t bits =
      *std::ranges::min_element(statistics.run_bits) + palette_bits(palette) + kSliceHeaderBits + kSliceTailBits;
  if (bits < best.bits) best = {.bits = bits, .zero_runs = ZeroRuns::kYes, .palette = palette};
}

// The folded weights that come, the most frequent first, of equal ones the smaller.
std::span<uint16_t> sort_by_frequency(const Statistics& statistics, std::array<uint16_t, kFoldedValues>& order) {
  std::array<uint64_t, kFoldedValues> keys;
  size_t distinct = 0;
  for (size_t f = 0; f < kFoldedValues; ++f) {
    if (statistics.count[f] != 0) keys[distinct++] = uint64_t{statistics.count[f]} << 16 | (kMaxFolded - f);
  }
  std::sort(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(distinct), std::greater<>());
  for (size_t i = 0; i < distinct; ++i) order[i] = static_cast<uint16_t>(kMaxFolded - (keys[i] & 0xFFFF));
  return std::span(order).first(distinct);
}

// The best that takes fewer bits than `limit`; when there is none, one of `limit` bits that is none.
Choice choose(const Statistics& statistics, uint64_t limit = kImpossible) {
  std::array<uint16_t, kFoldedValues> order;
  const std::span<uint16_t> all = sort_by_frequency(statistics, order);
  Choice best{.bits = limit, .zero_runs = ZeroRuns::kNo, .palette = {}};
  consider(statistics, all, ZeroRuns::kNo, best);
  if (statistics.count[0] != 0) {
    const auto without_zero = std::remove(all.begin(), all.end(), uint16_t{0});
    const auto nonzero = static_cast<size_t>(without_zero - all.begin());
    if (nonzero > 0) {
      consider(statistics, all.first(nonzero), ZeroRuns::kYes, best);
    } else {
      consider_all_zero(statistics, best);
    }
  }
  return best;
}

// A section under construction.
struct Candidate {
  size_t begin = 0;
  size_t end = 0;
  Statistics statistics;
  Choice choice;
  size_t alone_before = 0;  // the end of the neighbour that it was not joined with
};

Statistics statistics_of(std::span<const int16_t> weights) {
  Statistics statistics;
  std::array<uint32_t, 32> short_runs{};  // most are
  const auto end_run = [&](uint32_t length) {
    if (length < short_runs.size()) {
      ++short_runs[length];
    } else {
      statistics.add_runs(length, 1);
    }
  };
  uint32_t run = 0;
  for (const int16_t weight : weights) {
    ++statistics.count[static_cast<size_t>(fold(weight))];
    if (weight == 0) {
      ++run;
    } else {
      end_run(run);
      run = 0;
    }
  }
  end_run(run);
  for (uint32_t length = 0; length < short_runs.size(); ++length) statistics.add_runs(length, short_runs[length]);
  return statistics;
}

}  // namespace

// Neighbours are joined in rounds, pair by pair, for as long as that saves bits.
std::vector<Section> make_sections(std::span<const int16_t> weights) {
  const size_t block = std::clamp<size_t>(weights.size() / 64, 512, 4096);
  std::vector<Candidate> sections;
  for (size_t begin = 0; begin < weights.size(); begin += block) {
    const size_t end = std::min(begin + block, weights.size());
    Candidate section{
        .begin = begin, .end = end, .statistics = statistics_of(weights.subspan(begin, end - begin)), .choice = {}};
    section.choice = choose(section.statistics);
    sections.push_back(section);
  }
  for (bool joined = true; joined && sections.size() > 1;) {
    joined = false;
    std::vector<Candidate> next;
    for (size_t i = 0; i < sections.size(); ++i) {
      if (i + 1 == sections.size() || sections[i].alone_before == sections[i + 1].end) {
        next.push_back(sections[i]);
        continue;
      }
      Candidate both{
          .begin = sections[i].begin, .end = sections[i + 1].end, .statistics = sections[i].statistics, .choice = {}};
      both.statistics += sections[i + 1].statistics;
      const uint64_t apart = sections[i].choice.bits + sections[i + 1].choice.bits;
      both.choice = choose(both.statistics, apart + 1);
      if (both.choice.bits <= apart) {
        next.push_back(both);
        ++i;
        joined = true;
      } else {
        next.push_back(sections[i]);
        next.back().alone_before = sections[i + 1].end;
      }
    }
    sections = std::move(next);
  }
  std::vector<Section> out;
  for (const Candidate& section : sections) {
    out.push_back({.begin = section.begin, .end = section.end, .choice = section.choice});
  }
  return out;
}

}  // namespace carina::npu::swd
