#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "npu/weights/swd_internal.h"

// The lookup tables of the standard weight decoder: the symbols in unary fields, and the weights of values.
namespace carina::npu::swd {

// The symbols that end within four unary positions, and the incomplete symbol after them.
struct UnaryStep {
  std::array<uint32_t, 4> quotients{};
  uint8_t ended = 0;
  uint8_t rest = 0;      // of the incomplete symbol
  uint8_t set_bits = 0;  // bits set in the first unary field, which is how many bits of the second are used
};

// Weights: each position adds 0, 1 or 2. A 2 means that the symbol continues, unless quotients are truncated. The index
// is four bits of the first unary field, then four of the second.
constexpr std::array<UnaryStep, 256> weight_steps(bool truncated) {
  std::array<UnaryStep, 256> steps;
  for (unsigned index = 0; index < steps.size(); ++index) {
    UnaryStep& step = steps[index];
    unsigned second = index >> 4;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned bit0 = index >> i & 1;
      const unsigned bit1 = bit0 & second;
      second >>= bit0;
      step.set_bits = static_cast<uint8_t>(step.set_bits + bit0);
      step.rest = static_cast<uint8_t>(step.rest + bit0 + bit1);
      if (bit1 != 0 && !truncated) continue;
      step.quotients[step.ended++] = step.rest;
      step.rest = 0;
    }
  }
  return steps;
}

// Zero runs: a one adds to the quotient, a zero ends the symbol.
constexpr std::array<UnaryStep, 16> zero_steps() {
  std::array<UnaryStep, 16> steps;
  for (unsigned index = 0; index < steps.size(); ++index) {
    UnaryStep& step = steps[index];
    for (unsigned i = 0; i < 4; ++i) {
      if ((index >> i & 1) != 0) {
        ++step.rest;
      } else {
        step.quotients[step.ended++] = step.rest;
        step.rest = 0;
      }
    }
  }
  return steps;
}

inline constexpr std::array<std::array<UnaryStep, 256>, 2> kWeightSteps{weight_steps(false), weight_steps(true)};
inline constexpr std::array<UnaryStep, 16> kZeroSteps = zero_steps();

// The number of set bits of a unary field.
constexpr std::array<uint8_t, 1 << kUnaryPositions> set_bits() {
  std::array<uint8_t, 1 << kUnaryPositions> counts{};
  for (size_t i = 1; i < counts.size(); ++i) counts[i] = static_cast<uint8_t>(counts[i / 2] + i % 2);
  return counts;
}
inline constexpr auto kSetBits = set_bits();

// The weights of values. The table has all values of ten bits. A value without a weight has kNoWeight, which is not a
// weight.
inline constexpr int kValueBits = 10;
inline constexpr int16_t kNoWeight = 1 << kValueBits;
using Weights = std::array<int16_t, size_t{1} << kValueBits>;

// The number of values that have a weight.
inline int known_values(const Palette& palette) {
  return palette.size + kMaxFolded + 1 - palette.direct_offset;
}

inline Weights weights_of(const Palette& palette) {
  Weights weights;
  weights.fill(kNoWeight);
  static_assert(kMaxFolded + 1 + kMaxPaletteSize <= std::tuple_size_v<Weights>);
  for (int v = 0; v < known_values(palette); ++v) {
    const int folded =
        v < palette.size ? palette.entries[static_cast<size_t>(v)] : v - palette.size + palette.direct_offset;
    weights[static_cast<size_t>(v)] = static_cast<int16_t>(unfold(folded));
  }
  return weights;
}

// Returns whether kNoWeight is among them. In a real weight, all bits from the ninth on are equal.
inline bool has_unknown(std::span<const int16_t> weights) {
  constexpr uint64_t kMarks = 0x0001000100010001u * uint64_t{kNoWeight};
  uint64_t marks = 0;
  size_t i = 0;
  for (; i + 4 <= weights.size(); i += 4) {
    uint64_t four = 0;
    std::memcpy(&four, weights.data() + i, sizeof four);
    marks |= (four ^ four << 1) & kMarks;
  }
  bool found = marks != 0;
  for (; i < weights.size(); ++i) found |= weights[i] == kNoWeight;
  return found;
}

}  // namespace carina::npu::swd
