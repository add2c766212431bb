#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "npu/weights/swd_internal.h"
#include "npu/weights/value_counts.h"

// The decisions of the weight encoder. The sequence is divided into blocks. Neighboring blocks that cost less with one
// palette than with two are merged into a section, which has one palette and either codes zero runs or does not. Within
// a section, each slice has its own divisors. Dynamic programming over the chunks of the section finds the cheapest
// series of slices. All decisions use exact bit counts of the symbols.
namespace carina::npu::swd {

inline constexpr size_t kFoldedValues = kMaxFolded + 1;
inline constexpr int kSliceHeaderBits = kZdivBits + kSliceLengthBits + kWdivBits + 2;
inline constexpr int kPaletteHeaderBits = kDirectOffsetBits + kPaletteSizeBits + kPaletteBitsBits;
// The average waste of a slice in its last chunks, in bits: unused unary positions of weights and of zero runs.
inline constexpr int kSliceTailBits = 12;
inline constexpr uint64_t kImpossible = std::numeric_limits<uint64_t>::max() / 4;

enum class ZeroRuns : uint8_t { kNo, kYes };

// One way to code the values of a slice.
struct WeightCode {
  int wdiv = 0;
  bool truncated = false;
};
inline constexpr int kWeightCodes = 2 * (kMaxWdiv + 1) + 1;  // per divisor: plain, truncated; one uncompressed
constexpr WeightCode weight_code(int index) {
  if (index == kWeightCodes - 1) return {.wdiv = kWdivUncompressed, .truncated = false};
  return {.wdiv = index / 2, .truncated = index % 2 != 0};
}

// Counts of the quotients of values under one code: how many, the largest, their sum, and how many are 2.
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

// The cost of a section with its best palette and one slice.
struct Choice {
  uint64_t bits = kImpossible;
  ZeroRuns zero_runs = ZeroRuns::kNo;
  Palette palette;
};

// Counts of each folded weight, and the cost of the zero runs before, between and after other weights for each divisor.
struct Statistics {
  std::array<uint32_t, kFoldedValues> count{};
  std::array<uint64_t, kMaxZdiv + 1> run_bits{};
  size_t end = 0;  // one more than the largest folded weight that occurs

  [[nodiscard]] ValueCounts values() const;
  Statistics& operator+=(const Statistics& other) {
    end = std::max(end, other.end);
    for (size_t i = 0; i < end; ++i) count[i] += other.count[i];
    for (size_t i = 0; i < run_bits.size(); ++i) run_bits[i] += other.run_bits[i];
    return *this;
  }
};
// The most weights of one count.
inline constexpr size_t kMaxCounted = 4096;
Statistics statistics_of(std::span<const int16_t> weights);

// The cheapest choice below `limit` bits. If there is none, an invalid choice of `limit` bits.
Choice choose(const Statistics& statistics, uint64_t limit = kImpossible);

// A range of the weights with one palette.
struct Section {
  size_t begin = 0;
  size_t end = 0;
  Choice choice;
};

// The cheapest division of the weights into sections.
struct Sections {
  std::vector<Section> list = {};
  ValueCounts values = {};  // of all weights
};
Sections make_sections(std::span<const int16_t> weights);

}  // namespace carina::npu::swd
