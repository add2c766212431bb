#include "npu/swd_plan_internal.h"

#include <algorithm>
#include <bit>

namespace carina::npu::swd {

namespace {

// How often each folded weight and each length of a zero run comes. With zero runs, the runs are counted by their cost
// at each divisor.
struct Statistics {
  std::array<uint32_t, kFoldedValues> count{};
  std::array<uint64_t, kMaxZdiv + 1> run_bits{};
  uint32_t runs = 0;

  Statistics& operator+=(const Statistics& other) {
    for (size_t i = 0; i < count.size(); ++i) count[i] += other.count[i];
    for (size_t i = 0; i < run_bits.size(); ++i) run_bits[i] += other.run_bits[i];
    runs += other.runs;
    return *this;
  }
  void add_run(uint32_t length) {
    for (size_t d = 0; d < run_bits.size(); ++d) run_bits[d] += (length >> d) + 1 + d;
    ++runs;
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

void consider(const Statistics& statistics, std::span<const uint16_t> by_frequency, ZeroRuns zero_runs, Choice& best) {
  constexpr std::array<size_t, 12> kSizes{0, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32};
  const uint64_t run_bits = zero_runs == ZeroRuns::kYes ? *std::ranges::min_element(statistics.run_bits) : 0;
  if (run_bits >= best.bits) return;
  for (const size_t size : kSizes) {
    if (size > by_frequency.size() && size != 0 && size / 2 >= by_frequency.size()) break;
    const Palette palette = make_palette(by_frequency, statistics, size, zero_runs);
    const auto value = value_table(palette);
    ValueSums sums;
    for (const uint16_t f : by_frequency) sums.add(value[f], statistics.count[f]);
    uint64_t bits = kImpossible;
    for (int i = 0; i < kWeightCodes; ++i) bits = std::min(bits, bits_of(sums, weight_code(i), palette));
    bits += run_bits + palette_bits(palette) + kSliceHeaderBits + kSliceTailBits;
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

Choice choose(const Statistics& statistics) {
  std::array<uint16_t, kFoldedValues> order;
  size_t distinct = 0;
  for (size_t f = 0; f < kFoldedValues; ++f) {
    if (statistics.count[f] != 0) order[distinct++] = static_cast<uint16_t>(f);
  }
  std::ranges::stable_sort(order.begin(), order.begin() + distinct,
                           [&](uint16_t a, uint16_t b) { return statistics.count[a] > statistics.count[b]; });
  Choice best;
  const std::span<uint16_t> all(order.data(), distinct);
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
};

Statistics statistics_of(std::span<const int16_t> weights) {
  Statistics statistics;
  uint32_t run = 0;
  for (const int16_t weight : weights) {
    ++statistics.count[static_cast<size_t>(fold(weight))];
    if (weight == 0) {
      ++run;
    } else {
      statistics.add_run(run);
      run = 0;
    }
  }
  statistics.add_run(run);
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
      if (i + 1 == sections.size()) {
        next.push_back(sections[i]);
        break;
      }
      Candidate both{
          .begin = sections[i].begin, .end = sections[i + 1].end, .statistics = sections[i].statistics, .choice = {}};
      both.statistics += sections[i + 1].statistics;
      both.choice = choose(both.statistics);
      if (both.choice.bits <= sections[i].choice.bits + sections[i + 1].choice.bits) {
        next.push_back(both);
        ++i;
        joined = true;
      } else {
        next.push_back(sections[i]);
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
