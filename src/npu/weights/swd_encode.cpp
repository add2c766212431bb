#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "carina/check.h"
#include "npu/weights/swd_bit_writer_internal.h"
#include "npu/weights/swd_symbols_internal.h"
#include "npu/weights/weight_codec.h"

// Encodes slices of the standard weight decoder: the header, the palette, and the chunks of unary codes and remainders.
// Quotients are written by tables, several at a time; docs/npu-encoding.md describes the format.
namespace carina::npu {

namespace {

using namespace swd;

constexpr auto kOnes = [] {  // one bit for each position of a chunk
  std::array<uint8_t, 1 << kUnaryPositions> ones{};
  for (size_t i = 0; i < ones.size(); ++i) ones[i] = static_cast<uint8_t>(std::popcount(i));
  return ones;
}();

constexpr size_t kTogether = 4;  // values of 16 bits in a 64-bit word

uint64_t four_of(std::span<const uint16_t> values, size_t first) {
  uint64_t four = 0;
  std::memcpy(&four, values.data() + first, sizeof four);
  return four;
}

// The lowest `bits` bits of four numbers, concatenated. Example: 2 bits of {1, 2, 3, 0} give 0b00111001.
uint64_t low_bits(uint64_t four, int bits) {
  const uint64_t one = (uint64_t{1} << bits) - 1;
  four &= one * 0x0001'0001'0001'0001;
  constexpr uint64_t kEven = 0x0000'FFFF'0000'FFFF;
  four = (four & kEven) | (four >> 16 & kEven) << bits;
  return static_cast<uint32_t>(four) | four >> 32 << 2 * bits;
}

// The unary part of one chunk.
struct WeightUnary {
  uint32_t unary0 = 0;
  uint32_t unary1 = 0;
  int unary1_bits = 0;
};

// The unary code of quotients. A position codes 0, 1 or 2: one bit of unary0, and one bit of unary1 if the first is
// set. After a 2 the quotient continues at the next position, unless the code is truncated.
//   Example (not truncated): the quotient 3 takes two positions, 2 and 1.
struct Unary {
  uint16_t unary0 = 0;
  uint16_t unary1 = 0;
  uint16_t ends = 0;  // the positions at which quotients end
  uint8_t positions = 0;
  uint8_t unary1_bits = 0;
};

enum class Ends : uint8_t { kWhole, kTruncated };  // kTruncated: all quotients are below 3

using UnaryTable = std::array<Unary, 256>;

// The codes of several consecutive quotients, indexed by `bits` bits of each.
constexpr UnaryTable unary_table(Ends ends_of, unsigned bits) {
  UnaryTable table;
  for (unsigned index = 0; index < table.size(); ++index) {
    unsigned positions = 0, unary1_bits = 0, unary0 = 0, unary1 = 0, ends = 0;
    for (unsigned shift = 0; shift < 8; shift += bits) {
      const unsigned quotient = index >> shift & ((1u << bits) - 1), ones = (quotient + 1) / 2;
      unary0 |= ((1u << ones) - 1) << positions;
      unary1 |= ((1u << quotient / 2) - 1) << unary1_bits;
      unary1_bits += ones;
      positions += ends_of == Ends::kTruncated ? 1 : quotient / 2 + 1;
      ends |= 1u << (positions - 1);
    }
    table[index] = {.unary0 = static_cast<uint16_t>(unary0),
                    .unary1 = static_cast<uint16_t>(unary1),
                    .ends = static_cast<uint16_t>(ends),
                    .positions = static_cast<uint8_t>(positions),
                    .unary1_bits = static_cast<uint8_t>(unary1_bits)};
  }
  return table;
}

// The tables for four quotients below 4, and for two quotients below 16.
struct UnaryTables {
  UnaryTable four;
  UnaryTable two;
};
constexpr UnaryTables kWholeUnary{unary_table(Ends::kWhole, 2), unary_table(Ends::kWhole, 4)};
constexpr UnaryTables kTruncatedUnary{unary_table(Ends::kTruncated, 2), unary_table(Ends::kTruncated, 4)};

// Writes the quotients of weights as unary codes.
class WeightUnaryWriter {
 public:
  WeightUnaryWriter(std::span<const uint16_t> values, WeightCode code)
      : values_(values), code_(code), unary_(code.truncated ? kTruncatedUnary : kWholeUnary) {}

  [[nodiscard]] size_t written() const { return written_; }  // number of values whose quotient is complete
  void skip(size_t values) { written_ = taken_ = std::min(written_ + values, values_.size()); }
  WeightUnary chunk() {
    while (positions_ < kUnaryPositions && (rest_ > 0 || taken_ < values_.size())) {
      if (rest_ > 0 || taken_ + kTogether > values_.size() || !take_several()) take();
    }
    const auto first = static_cast<size_t>(unary0_ & kChunk), ends = static_cast<size_t>(ends_ & kChunk);
    const int ones = kOnes[first];
    const WeightUnary chunk{.unary0 = static_cast<uint32_t>(first),
                            .unary1 = static_cast<uint32_t>(unary1_ & ((uint64_t{1} << ones) - 1)),
                            .unary1_bits = ones};
    written_ += kOnes[ends];
    unary0_ >>= kUnaryPositions;
    ends_ >>= kUnaryPositions;
    unary1_ >>= ones;
    unary1_bits_ -= ones;
    positions_ = std::max(positions_ - kUnaryPositions, 0);
    return chunk;
  }

 private:
  static constexpr uint64_t kChunk = (1 << kUnaryPositions) - 1;
  static constexpr uint32_t kMaxQuotient = 64;  // per step, so that a chunk's rest and 33 positions fit the windows

  // Encodes four or two quotients by table. Returns false and consumes nothing if they exceed the tables.
  bool take_several() {
    constexpr uint64_t kOfEach = 0x0001'0001'0001'0001, kUpToThree = 3 * kOfEach, kUpToFifteen = 15 * 0x0001'0001;
    constexpr uint64_t kGather = (uint64_t{1} << 48) + (uint64_t{1} << 34) + (1 << 20) + (1 << 6);
    const uint64_t quotients = four_of(values_, taken_) >> code_.wdiv & (0xFFFFu >> code_.wdiv) * kOfEach;
    if ((quotients & ~kUpToThree) == 0) {
      append(unary_.four[quotients * kGather >> 48 & 0xFF], 4);
      return true;
    }
    if ((quotients & 0xFFFF'FFFF & ~kUpToFifteen) != 0) return false;
    append(unary_.two[(quotients | quotients >> 12) & 0xFF], 2);
    return true;
  }
  void append(const Unary& unary, size_t values) {
    unary0_ |= uint64_t{unary.unary0} << positions_;
    ends_ |= uint64_t{unary.ends} << positions_;
    unary1_ |= uint64_t{unary.unary1} << unary1_bits_;
    positions_ += unary.positions;
    unary1_bits_ += unary.unary1_bits;
    taken_ += values;
  }
  void take() {
    uint32_t quotient = rest_ > 0 ? rest_ : uint32_t{values_[taken_]} >> code_.wdiv;
    rest_ = 0;
    if (quotient > kMaxQuotient) {
      rest_ = quotient - kMaxQuotient;
      append(kMaxQuotient, kMaxQuotient / 2, 0);
      return;
    }
    ++taken_;
    const int positions = code_.truncated ? 1 : static_cast<int>(quotient / 2) + 1;
    append(quotient, positions, uint64_t{1} << (positions - 1));
  }
  // Appends bits to the three windows: `quotient` as ones of unary0, a bit of unary1 for each position, and the ends of
  // values.
  void append(uint32_t quotient, int positions, uint64_t ends) {
    const int ones = static_cast<int>((quotient + 1) / 2);
    unary0_ |= ((uint64_t{1} << ones) - 1) << positions_;
    ends_ |= ends << positions_;
    unary1_ |= ((uint64_t{1} << quotient / 2) - 1) << unary1_bits_;
    unary1_bits_ += ones;
    positions_ += positions;
  }

  std::span<const uint16_t> values_;
  WeightCode code_;
  const UnaryTables& unary_;
  size_t taken_ = 0;
  size_t written_ = 0;
  uint32_t rest_ = 0;  // rest of a long quotient
  uint64_t unary0_ = 0, unary1_ = 0, ends_ = 0;
  int positions_ = 0, unary1_bits_ = 0;
};

// Writes runs of zeros as unary codes: as many ones as the quotient, then a zero.
class ZeroUnaryWriter {
 public:
  ZeroUnaryWriter(std::span<const uint32_t> runs, int zdiv)
      : runs_(runs), zdiv_(zdiv), positions_(zdiv == kMaxZdiv ? kUnaryPositionsZdiv3 : kUnaryPositions) {}

  [[nodiscard]] size_t written() const { return written_; }  // number of runs whose quotient is complete
  [[nodiscard]] int positions() const { return positions_; }
  uint32_t chunk() {
    while (filled_ < positions_ && taken_ < runs_.size()) take();
    const uint64_t mask = (uint64_t{1} << positions_) - 1;
    const auto chunk = static_cast<uint32_t>(unary_ & mask);
    written_ += kOnes[ends_ & mask];
    unary_ >>= positions_;
    ends_ >>= positions_;
    filled_ = std::max(filled_ - positions_, 0);
    return chunk;
  }

 private:
  static constexpr uint32_t kMaxOnes = 32;  // per step, so that they fit the windows

  void take() {
    if (!open_) rest_ = runs_[taken_] >> zdiv_;
    const uint32_t ones = std::min(rest_, kMaxOnes);
    unary_ |= ((uint64_t{1} << ones) - 1) << filled_;
    filled_ += static_cast<int>(ones);
    rest_ -= ones;
    open_ = rest_ > 0;
    if (open_) return;
    ends_ |= uint64_t{1} << filled_++;
    ++taken_;
  }

  std::span<const uint32_t> runs_;
  int zdiv_, positions_;
  size_t taken_ = 0;
  size_t written_ = 0;
  uint32_t rest_ = 0;  // rest of the current run's quotient
  bool open_ = false;  // whether a run is incomplete
  uint64_t unary_ = 0, ends_ = 0;
  int filled_ = 0;
};

// Writes the remainders of values. Reads up to kReadFurther values after the last one.
void put_value_remainders(BitWriter& bits, std::span<const uint16_t> values, size_t& done, size_t end, int divisor) {
  static_assert(kTogether * std::bit_width(size_t{kMaxFolded}) <= BitWriter::kMaxBits);
  static_assert(kTogether - 1 <= SymbolReader::kReadFurther);
  for (; divisor > 0 && done < end; done += kTogether) {
    const int filled = static_cast<int>(std::min(kTogether, end - done)) * divisor;
    bits.put(low_bits(four_of(values, done), divisor) & ((uint64_t{1} << filled) - 1), filled);
  }
  done = end;
}

void put_run_remainders(BitWriter& bits, std::span<const uint32_t> runs, size_t& done, size_t end, int divisor) {
  static_assert(kUnaryPositions * kMaxZdiv <= BitWriter::kMaxBits);
  const uint64_t mask = (uint64_t{1} << divisor) - 1;
  uint64_t together = 0;
  int filled = 0;
  for (; divisor > 0 && done < end; ++done, filled += divisor) together |= (runs[done] & mask) << filled;
  bits.put(together, filled);
  done = end;
}

void write_chunks(BitWriter& bits, std::span<const uint16_t> values, std::span<const uint32_t> runs, const Slice& slice,
                  const Palette& palette) {
  constexpr size_t kMaxChunkBytes = (kUnaryPositions * (3 + kMaxZdiv + std::bit_width(size_t{kMaxFolded}))) / 8 + 1;
  const bool zero_runs = slice.zdiv != kZdivNone;
  const bool uncompressed = slice.code.wdiv == kWdivUncompressed;
  const int weight_bits = uncompressed ? uncompressed_bits(palette) : slice.code.wdiv;
  const size_t uncompressed_positions =
      weight_bits <= kUncompressedNarrowBits ? kUnaryPositions : kUncompressedPositionsWide;
  WeightUnaryWriter weights(values, slice.code);
  ZeroUnaryWriter zeros(runs, zero_runs ? slice.zdiv : 0);
  size_t weights_done = 0;
  size_t zeros_done = 0;
  for (bool previous = true; previous;) {
    bits.reserve(kMaxChunkBytes);
    const size_t weights_due = weights.written();
    const size_t zeros_due = zeros.written();
    const bool put_weights = (!zero_runs || weights_due < zeros_due + kMaxLead) && weights_due < values.size();
    const bool put_zeros = zero_runs && weights_due >= zeros_due && zeros_due < runs.size();
    WeightUnary unary;
    if (put_weights && uncompressed) weights.skip(uncompressed_positions);
    if (put_weights && !uncompressed) unary = weights.chunk();
    if (put_zeros) {
      if (put_weights && !uncompressed) bits.put(unary.unary0, kUnaryPositions);
      bits.put(zeros.chunk(), zeros.positions());
      bits.put(unary.unary1, unary.unary1_bits);
    } else if (put_weights && !uncompressed) {
      bits.put(unary.unary0 | unary.unary1 << kUnaryPositions, kUnaryPositions + unary.unary1_bits);
    }
    put_value_remainders(bits, values, weights_done, weights_due, weight_bits);
    put_run_remainders(bits, runs, zeros_done, zeros_due, zero_runs ? slice.zdiv : 0);
    previous = put_weights || put_zeros;
  }
}

// Writes values without zero runs. Values of one width are adjacent, so chunk boundaries have no effect.
void write_values(BitWriter& bits, std::span<const uint16_t> values, int weight_bits) {
  bits.reserve(values.size() * static_cast<size_t>(weight_bits) / 8 + 1);
  size_t done = 0;
  put_value_remainders(bits, values, done, values.size(), weight_bits);
}

void write_header(BitWriter& bits, const Slice& slice, bool is_first, const Palette& palette) {
  constexpr int kMaxBits =
      kSliceHeaderBits + kPaletteHeaderBits + kMaxPaletteSize * (kPaletteBitsBias + (1 << kPaletteBitsBits));
  bits.reserve(kMaxBits / 8 + 1);
  bits.put(static_cast<uint64_t>(slice.zdiv), kZdivBits);
  bits.put(slice.values - 1, kSliceLengthBits);
  bits.put(static_cast<uint64_t>(slice.code.wdiv), kWdivBits);
  bits.put(slice.code.truncated ? 1 : 0, 1);
  bits.put(is_first ? 1 : 0, 1);
  if (!is_first) return;
  bits.put(static_cast<uint64_t>(palette.direct_offset), kDirectOffsetBits);
  bits.put(static_cast<uint64_t>(std::max(palette.size - 1, 0)), kPaletteSizeBits);
  bits.put(static_cast<uint64_t>(palette.bits - kPaletteBitsBias), kPaletteBitsBits);
  for (int i = 0; i < palette.size; ++i) bits.put(palette.entries[static_cast<size_t>(i)], palette.bits);
}

void write_section(BitWriter& bits, std::span<const int16_t> weights, const Choice& choice) {
  SymbolReader reader(weights, choice);
  bool is_first = true;
  for (const Slice& slice : choose_slices(reader, choice)) {
    write_header(bits, slice, is_first, choice.palette);
    reader.go_to(slice.position);
    const Symbols symbols = reader.read(slice.values);
    if (slice.code.wdiv == kWdivUncompressed && slice.zdiv == kZdivNone) {
      write_values(bits, symbols.values, uncompressed_bits(choice.palette));
    } else {
      // A slice has the run of zeros after each of its values. The first slice also has the run before its first value.
      const auto runs = symbols.runs.empty() || is_first ? symbols.runs : symbols.runs.subspan(1);
      write_chunks(bits, symbols.values, runs, slice, choice.palette);
    }
    is_first = false;
  }
}

void check_range(std::span<const int16_t> weights) {
  bool in_range = true;
  for (const int16_t w : weights) in_range &= w >= kMinWeight && w <= kMaxWeight;
  if (in_range) return;
  const auto out_of_range = std::ranges::find_if(weights, [](int16_t w) { return w < kMinWeight || w > kMaxWeight; });
  CARINA_CHECK(out_of_range == weights.end(), "weight {}", *out_of_range);
}

size_t expected_bytes(const Sections& sections) {
  uint64_t bits = 0;
  for (const Section& section : sections.list) bits += section.choice.bits;
  return static_cast<size_t>(bits / 8 + bits / 2048) + 64;  // spare bytes for slices that need more than one header
}

}  // namespace

EncodedWeights encode_swd_counted(std::span<const int16_t> weights) {
  check_range(weights);
  const Sections sections = make_sections(weights);
  BitWriter bits(expected_bytes(sections));
  for (const Section& section : sections.list)
    write_section(bits, weights.subspan(section.begin, section.end - section.begin), section.choice);
  bits.reserve(1);
  bits.put(kZdivEndOfStream, kZdivBits);
  return {.bytes = std::move(bits).finish(), .values = sections.values};
}

std::vector<std::byte> encode_swd(std::span<const int16_t> weights) {
  return encode_swd_counted(weights).bytes;
}

}  // namespace carina::npu
