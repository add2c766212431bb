#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "npu/swd_internal.h"
#include "npu/value_counts.h"

// How the encoder decides: the sequence is cut into blocks; neighboring blocks that cost less with one palette than
// with two become a section (one palette, zero runs or not). Within a section the divisors may change from slice to
// slice: the cheapest series of them is found by dynamic programming over chunks of the section. Everything is decided
// on exact bit counts of the symbols.
namespace carina::npu::swd {

inline constexpr size_t kFoldedValues = kMaxFolded + 1;
inline constexpr int kSliceHeaderBits = kZdivBits + kSliceLengthBits + kWdivBits + 2;
inline constexpr int kPaletteHeaderBits = kDirectOffsetBits + kPaletteSizeBits + kPaletteBitsBits;
// What a slice wastes on average in its last chunks: unused unary positions of weights and of zero runs.
inline constexpr int kSliceTailBits = 12;
inline constexpr uint64_t kImpossible = std::numeric_limits<uint64_t>::max() / 4;

enum class ZeroRuns : uint8_t { kNo, kYes };

// A way to code the values of a slice.
struct WeightCode {
  int wdiv = 0;
  bool truncated = false;
};
inline constexpr int kWeightCodes = 2 * (kMaxWdiv + 1) + 1;  // each divisor plain and truncated, and uncompressed
constexpr WeightCode weight_code(int index) {
  if (index == kWeightCodes - 1) return {.wdiv = kWdivUncompressed, .truncated = false};
  return {.wdiv = index / 2, .truncated = index % 2 != 0};
}

// What a code makes of values: their number and the largest, the sum of their quotients, and how many are 2.
struct Quotients {
  uint64_t values = 0;
  uint32_t max = 0;
  uint64_t sum = 0;
  uint64_t twos = 0;
};

inline uint64_t bits_of(const Quotients& quotients, WeightCode code, const Palette& palette) {
  if (code.wdiv == kWdivUncompressed) {
    const int bits = uncompressed_bits(palette);
    return quotients.max >> bits != 0 ? kImpossible : quotients.values * static_cast<uint64_t>(bits);
  }
  if (code.truncated && quotients.max >> code.wdiv > 2) return kImpossible;
  return quotients.values * (1 + static_cast<uint64_t>(code.wdiv)) + quotients.sum -
         (code.truncated ? quotients.twos : 0);
}

// What a section costs with its best palette and one slice.
struct Choice {
  uint64_t bits = kImpossible;
  ZeroRuns zero_runs = ZeroRuns::kNo;
  Palette palette;
};

// How often each folded weight comes, and what the runs of zeros before, between and behind other weights cost at each
// divisor.
struct Statistics {
  std::array<uint32_t, kFoldedValues> count{};
  std::array<uint64_t, kMaxZdiv + 1> run_bits{};
  size_t end = 0;  // behind the largest folded weight that comes

  [[nodiscard]] ValueCounts values() const;
  Statistics& operator+=(const Statistics& other) {
    end = std::max(end, other.end);
    for (size_t i = 0; i < end; ++i) count[i] += other.count[i];
    for (size_t i = 0; i < run_bits.size(); ++i) run_bits[i] += other.run_bits[i];
    return *this;
  }
};
// Of at most kMaxCounted weights.
inline constexpr size_t kMaxCounted = 4096;
Statistics statistics_of(std::span<const int16_t> weights);

// The best that takes fewer bits than `limit`; when there is none, one of `limit` bits that is none.
Choice choose(const Statistics& statistics, uint64_t limit = kImpossible);

// A stretch of the weights with one palette.
struct Section {
  size_t begin = 0;
  size_t end = 0;
  Choice choice;
};

// The weights cut into the sections that cost least.
struct Sections {
  std::vector<Section> list = {};
  ValueCounts values = {};  // of all weights
};
Sections make_sections(std::span<const int16_t> weights);

}  // namespace carina::npu::swd
