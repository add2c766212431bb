#pragma once

#include <array>
#include <cstdint>

// Definitions that the encoder and the decoder of the standard weight stream share: field widths and the slice header.
// The format is described in docs/npu-encoding.md.
namespace carina::npu::swd {

inline constexpr int kZdivBits = 3;
inline constexpr int kSliceLengthBits = 15;
inline constexpr int kWdivBits = 3;
inline constexpr int kDirectOffsetBits = 5;
inline constexpr int kPaletteSizeBits = 5;
inline constexpr int kPaletteBitsBits = 3;
inline constexpr int kPaletteBitsBias = 2;

inline constexpr int kMaxSliceWeights = 1 << kSliceLengthBits;
inline constexpr int kMaxZdiv = 3;
inline constexpr int kZdivNone = 6;  // zeros are coded like other weights
inline constexpr int kZdivEndOfStream = 7;
inline constexpr int kMaxWdiv = 5;
inline constexpr int kWdivUncompressed = 7;
inline constexpr int kMaxPaletteSize = 32;
inline constexpr int kMaxDirectOffset = 31;
inline constexpr int kMaxFolded = 511;  // 9 bits

inline constexpr int kUnaryPositions = 12;  // of a chunk
inline constexpr int kUnaryPositionsZdiv3 = 8;
inline constexpr int kUncompressedPositionsWide = 8;  // for weights with longer codes:
inline constexpr int kUncompressedNarrowBits = 5;
inline constexpr int kMaxLead = 8;  // most weights that may be ahead of their zero runs

// A folded weight: magnitude and sign in one number, so that small magnitudes give small numbers.
constexpr int fold(int weight) {
  return weight < 0 ? (-weight << 1) | 1 : weight << 1;
}
constexpr int unfold(int folded) {
  return (folded & 1) != 0 ? -(folded >> 1) : folded >> 1;
}

// A palette, and the offset of the values that are not in it. Value v < size is folded weight entries[v]; any other
// value is v - size + direct_offset.
struct Palette {
  int size = 0;
  int bits = kPaletteBitsBias;
  int direct_offset = 0;
  std::array<uint16_t, kMaxPaletteSize> entries{};
};

// Bits of an uncompressed value.
constexpr int uncompressed_bits(const Palette& palette) {
  if (palette.size == 0) return palette.bits;
  int bits = 0;
  while (1 << bits < palette.size) ++bits;
  return bits;
}

}  // namespace carina::npu::swd
