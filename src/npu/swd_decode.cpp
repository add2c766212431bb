#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "npu/swd_internal.h"
#include "npu/weight_codec.h"

namespace carina::npu {

namespace {

using namespace swd;

// A quotient beyond this is refused later (no weight, and more zeros than any operation has): clamping avoids overflow
// until then.
constexpr uint32_t kMaxQuotient = 1u << 24;

constexpr int kWindowBits = 56;
constexpr int kMaxWeightBits = 9;  // of an uncompressed value
constexpr size_t kReservedWeightsPerByte = 4;

// Bits from the least significant of each byte on. Reads beyond the end give zeros; overrun() tells.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // The next kWindowBits bits at least.
  [[nodiscard]] uint64_t peek() const { return peek_behind(0); }
  // The same behind so many bits.
  [[nodiscard]] uint64_t peek_behind(int bits) const {
    const size_t position = position_ + static_cast<size_t>(bits);
    const size_t byte = position >> 3;
    uint64_t window = 0;
    if (byte + 8 <= bytes_.size()) [[likely]] {
      std::memcpy(&window, bytes_.data() + byte, 8);
    } else if (byte < bytes_.size()) {
      std::memcpy(&window, bytes_.data() + byte, bytes_.size() - byte);
    }
    return window >> (position & 7);
  }
  void skip(int bits) { position_ += static_cast<size_t>(bits); }
  uint32_t take(int bits) {
    const auto value = static_cast<uint32_t>(peek() & ((uint64_t{1} << bits) - 1));
    skip(bits);
    return value;
  }
  [[nodiscard]] size_t bytes() const { return bytes_.size(); }
  [[nodiscard]] size_t position() const { return position_; }
  [[nodiscard]] bool overrun() const { return position_ > bytes_.size() * 8; }

 private:
  std::span<const std::byte> bytes_;
  size_t position_ = 0;
};

// What four unary positions say: the symbols that end in them, and what is left for the symbol that goes on.
struct UnaryStep {
  std::array<uint32_t, 4> quotients{};
  uint8_t ended = 0;
  uint8_t rest = 0;      // of the symbol under way
  uint8_t set_bits = 0;  // in the first unary field: as many bits of the second one are used up
};

// Weights: each position adds 0, 1 or 2; 2 means that the symbol goes on, unless quotients are truncated. Index: four
// bits of the first unary field, then four of the second.
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

constexpr std::array<std::array<UnaryStep, 256>, 2> kWeightSteps{weight_steps(false), weight_steps(true)};
constexpr std::array<UnaryStep, 16> kZeroSteps = zero_steps();

// Set bits of a unary field.
constexpr std::array<uint8_t, 1 << kUnaryPositions> set_bits() {
  std::array<uint8_t, 1 << kUnaryPositions> counts{};
  for (size_t i = 1; i < counts.size(); ++i) counts[i] = static_cast<uint8_t>(counts[i / 2] + i % 2);
  return counts;
}
constexpr auto kSetBits = set_bits();

struct SliceHeader {
  int zdiv = 0;
  int length = 0;
  int wdiv = 0;
  bool truncated = false;  // quotients of weights are at most 2 and end without a stop bit
  bool new_palette = false;
};

// One kind of symbol in a slice: what is decoded so far. Quotients come a chunk before their remainders.
struct Symbols {
  std::vector<uint32_t>& quotients;
  std::vector<uint32_t>& values;
  int length = 0;         // symbols of the slice
  int position = 0;       // with a quotient
  int finished = 0;       // with a remainder as well
  uint32_t quotient = 0;  // of the symbol under way

  // Writes all four quotients, ended or not: `quotients` has room behind its last symbol, and later symbols overwrite
  // them.
  void add(const UnaryStep& step) {
    uint32_t* const to = quotients.data() + position;
    std::memcpy(to, step.quotients.data(), sizeof step.quotients);
    to[0] += quotient;
    quotient = step.ended != 0 ? step.rest : quotient + step.rest;
    position += step.ended;
  }
  // Positions after the last symbol mean nothing.
  void clip() {
    quotient = std::min(quotient, kMaxQuotient);
    if (position < length) return;
    position = length;
    quotient = 0;
  }
};

class Decoder {
 public:
  Decoder(std::span<const std::byte> stream, size_t max_weights, const std::string& where)
      : bits_(stream), max_weights_(max_weights), where_(where) {
    palette_.size = -1;  // none yet
  }

  Result<std::vector<int16_t>> run();
  Result<size_t> scan(const std::function<void(std::span<const int16_t>)>& part);

 private:
  Result<bool> read_slice();
  Result<bool> read_header(SliceHeader& header);
  void read_palette();
  void read_chunks(const SliceHeader& header, Symbols& weights, Symbols& zeros);
  void read_weight_chunks(const SliceHeader& header, Symbols& weights);
  void read_weight_quotients(Symbols& weights, uint32_t unary0, bool truncated);
  void read_zero_quotients(Symbols& zeros, uint32_t unary, int positions) const;
  void read_remainders(Symbols& symbols, int end, int divisor_bits);
  Result<void> write_slice(const SliceHeader& header);
  [[nodiscard]] std::unexpected<Diagnostics> bad(std::string what, std::string expected, std::string got) const {
    return fail({.where = fmt::format("{}: weight stream, bit {}", where_, bits_.position()),
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .got = std::move(got)});
  }

  BitReader bits_;
  size_t max_weights_;
  const std::string& where_;
  Palette palette_;
  // With room behind for what is read of too many symbols at once.
  std::vector<uint32_t> weight_quotients_ = std::vector<uint32_t>(kMaxSliceWeights + 2 * kUnaryPositions);
  std::vector<uint32_t> weight_values_ = weight_quotients_;
  std::vector<uint32_t> zero_quotients_ = std::vector<uint32_t>(kMaxSliceWeights + 1 + 2 * kUnaryPositions);
  std::vector<uint32_t> zero_runs_ = zero_quotients_;
  std::vector<int16_t> out_;
  size_t handed_over_ = 0;  // weights that were in out_ before
};

Result<bool> Decoder::read_header(SliceHeader& header) {
  header.zdiv = static_cast<int>(bits_.take(kZdivBits));
  if (header.zdiv == kZdivEndOfStream)
    return bits_.overrun() ? Result<bool>(bad("no end-of-stream mark", "a slice header", "the end")) : false;
  header.length = static_cast<int>(bits_.take(kSliceLengthBits)) + 1;
  header.wdiv = static_cast<int>(bits_.take(kWdivBits));
  header.truncated = bits_.take(1) != 0;
  const bool first = palette_.size < 0;
  header.new_palette = bits_.take(1) != 0;
  if (header.new_palette) read_palette();
  if (bits_.overrun()) return bad("the stream ends inside a slice header, or has no end-of-stream mark", "", "");
  if (header.zdiv > kMaxZdiv && header.zdiv != kZdivNone)
    return bad("impossible divisor of zero runs", "0 to 3, 6 or 7", std::to_string(header.zdiv));
  if (header.wdiv > kMaxWdiv && header.wdiv != kWdivUncompressed)
    return bad("impossible divisor of weights", "0 to 5 or 7", std::to_string(header.wdiv));
  if (first && !header.new_palette) return bad("the first slice has no palette", "", "");
  return true;
}

void Decoder::read_palette() {
  palette_.direct_offset = static_cast<int>(bits_.take(kDirectOffsetBits));
  const int size = static_cast<int>(bits_.take(kPaletteSizeBits));
  palette_.size = size > 0 ? size + 1 : 0;
  palette_.bits = static_cast<int>(bits_.take(kPaletteBitsBits)) + kPaletteBitsBias;
  for (int i = 0; i < palette_.size; ++i)
    palette_.entries[static_cast<size_t>(i)] = static_cast<uint16_t>(bits_.take(palette_.bits));
}

// The second unary field has one bit for each set bit of the first, so where the next field begins is known before the
// symbols are.
void Decoder::read_weight_quotients(Symbols& weights, uint32_t unary0, bool truncated) {
  const auto& steps = kWeightSteps[truncated ? 1 : 0];
  auto unary1 = static_cast<uint32_t>(bits_.peek());
  bits_.skip(kSetBits[unary0]);
  for (int i = 0; i < kUnaryPositions; i += 4) {
    const UnaryStep& step = steps[(unary0 & 15) | (unary1 & 15) << 4];
    weights.add(step);
    unary0 >>= 4;
    unary1 >>= step.set_bits;
  }
  weights.clip();
}

void Decoder::read_zero_quotients(Symbols& zeros, uint32_t unary, int positions) const {
  for (int i = 0; i < positions; i += 4) {
    zeros.add(kZeroSteps[unary & 15]);
    unary >>= 4;
  }
  zeros.clip();
}

// A whole chunk's at a time, though a chunk ends fewer: what is read too much is overwritten when its turn comes.
void Decoder::read_remainders(Symbols& symbols, int end, int divisor_bits) {
  constexpr int kHalf = kUnaryPositions / 2;
  static_assert(kHalf * kMaxWeightBits <= kWindowBits);
  const uint32_t mask = (1u << divisor_bits) - 1;
  for (int i = symbols.finished; i < end; i += kUnaryPositions) {
    const uint32_t* const quotients = symbols.quotients.data() + i;
    uint32_t* const values = symbols.values.data() + i;
    uint64_t first = bits_.peek();
    uint64_t second = bits_.peek_behind(kHalf * divisor_bits);
    for (int j = 0; j < kHalf; ++j, first >>= divisor_bits, second >>= divisor_bits) {
      values[j] = (quotients[j] << divisor_bits) + (static_cast<uint32_t>(first) & mask);
      values[j + kHalf] = (quotients[j + kHalf] << divisor_bits) + (static_cast<uint32_t>(second) & mask);
    }
    bits_.skip(std::min(kUnaryPositions, end - i) * divisor_bits);
  }
  symbols.finished = std::max(symbols.finished, end);
}

// Without zero runs.
void Decoder::read_weight_chunks(const SliceHeader& header, Symbols& weights) {
  bool more = true;
  while (more && !bits_.overrun()) {
    const int due = weights.position;  // of the previous chunk
    more = due < weights.length;
    if (more) read_weight_quotients(weights, bits_.take(kUnaryPositions), header.truncated);
    read_remainders(weights, due, header.wdiv);
  }
}

void Decoder::read_chunks(const SliceHeader& header, Symbols& weights, Symbols& zeros) {
  const bool zero_runs = header.zdiv != kZdivNone;
  const bool uncompressed = header.wdiv == kWdivUncompressed;
  const int weight_bits = uncompressed ? uncompressed_bits(palette_) : header.wdiv;
  const int zero_positions = header.zdiv == kMaxZdiv ? kUnaryPositionsZdiv3 : kUnaryPositions;
  const int uncompressed_positions =
      weight_bits <= kUncompressedNarrowBits ? kUnaryPositions : kUncompressedPositionsWide;
  if (uncompressed && !zero_runs) {
    // Nothing but remainders: the borders of chunks cannot be seen.
    std::fill_n(weights.quotients.begin(), weights.length, 0u);
    read_remainders(weights, weights.length, weight_bits);
    return;
  }
  if (!zero_runs) return read_weight_chunks(header, weights);
  bool previous = false;
  do {
    const int weights_due = weights.position;  // of the previous chunk
    const int zeros_due = zeros.position;
    const int lead = weights.position - zeros.position;
    const bool take_weights = (!zero_runs || lead < kMaxLead) && weights.position < weights.length;
    const bool take_zeros = zero_runs && lead >= 0 && zeros.position < zeros.length;
    const uint32_t unary0 = take_weights && !uncompressed ? bits_.take(kUnaryPositions) : 0;
    if (take_zeros) read_zero_quotients(zeros, bits_.take(zero_positions), zero_positions);
    if (take_weights && uncompressed) {
      const int end = std::min(weights.position + uncompressed_positions, weights.length);
      std::fill(weights.quotients.begin() + weights.position, weights.quotients.begin() + end, 0u);
      weights.position = end;
    } else if (take_weights) {
      read_weight_quotients(weights, unary0, header.truncated);
    }
    read_remainders(weights, weights_due, weight_bits);
    read_remainders(zeros, zeros_due, zero_runs ? header.zdiv : 0);
    previous = take_weights || take_zeros;
    if (bits_.overrun()) return;
  } while (previous);
}

Result<void> Decoder::write_slice(const SliceHeader& header) {
  std::array<int16_t, kMaxFolded + 1 + kMaxPaletteSize> weight_of{};
  const int known = palette_.size + kMaxFolded + 1 - palette_.direct_offset;  // values that stand for a weight
  for (int v = 0; v < known; ++v) {
    const int folded =
        v < palette_.size ? palette_.entries[static_cast<size_t>(v)] : v - palette_.size + palette_.direct_offset;
    weight_of[static_cast<size_t>(v)] = static_cast<int16_t>(unfold(folded));
  }
  const auto length = static_cast<size_t>(header.length);
  const bool zero_runs = header.zdiv != kZdivNone;
  const size_t runs = zero_runs ? length + (header.new_palette ? 1 : 0) : 0;
  size_t total = length;
  for (size_t i = 0; i < runs; ++i) total += zero_runs_[i];
  // All bits together are at least the largest, and quick to find; only when they say too much is each value looked at.
  uint32_t all = 0;
  for (size_t i = 0; i < length; ++i) all |= weight_values_[i];
  const auto values_begin = weight_values_.begin();
  if (all >= static_cast<uint32_t>(known) &&
      *std::max_element(values_begin, values_begin + static_cast<ptrdiff_t>(length)) >= static_cast<uint32_t>(known))
    return bad("a weight is out of range", fmt::format("{} to {}", kMinWeight, kMaxWeight), "");
  const size_t before = handed_over_ + out_.size();
  if (total > max_weights_ - before) {
    return bad("the stream has more weights than its operation", std::to_string(max_weights_),
               fmt::format("at least {}", before + total));
  }
  const size_t start = out_.size();
  out_.resize(start + total);  // zeros
  int16_t* to = out_.data() + start;
  const uint32_t* const values = weight_values_.data();
  if (!zero_runs) {
    for (size_t i = 0; i < length; ++i) to[i] = weight_of[values[i]];
    return {};
  }
  const uint32_t* run = zero_runs_.data();
  if (header.new_palette) to += *run++;
  for (size_t i = 0; i < length; ++i) {
    *to++ = weight_of[values[i]];
    to += *run++;
  }
  return {};
}

// False at the end of the stream.
Result<bool> Decoder::read_slice() {
  SliceHeader header;
  CARINA_TRY(const bool more, read_header(header));
  if (!more) return false;
  Symbols weights{.quotients = weight_quotients_, .values = weight_values_, .length = header.length};
  const bool zero_runs = header.zdiv != kZdivNone;
  Symbols zeros{.quotients = zero_quotients_,
                .values = zero_runs_,
                .length = zero_runs ? header.length + (header.new_palette ? 1 : 0) : 0};
  read_chunks(header, weights, zeros);
  if (bits_.overrun()) return bad("the stream ends inside a slice", "", "");
  CARINA_CHECKED(write_slice(header));
  return true;
}

Result<std::vector<int16_t>> Decoder::run() {
  // A guess that dense weights do not exceed, so that they are not copied as the vector grows; bounded by what the
  // stream could hold.
  out_.reserve(std::min(max_weights_, bits_.bytes() * kReservedWeightsPerByte));
  while (true) {
    CARINA_TRY(const bool more, read_slice());
    if (!more) return std::move(out_);
  }
}

Result<size_t> Decoder::scan(const std::function<void(std::span<const int16_t>)>& part) {
  while (true) {
    CARINA_TRY(const bool more, read_slice());
    if (!more) return handed_over_;
    part(out_);
    handed_over_ += out_.size();
    out_.clear();
  }
}

}  // namespace

Result<std::vector<int16_t>> decode_swd(std::span<const std::byte> stream, size_t max_weights,
                                        const std::string& where) {
  return Decoder(stream, max_weights, where).run();
}

Result<size_t> scan_swd(std::span<const std::byte> stream, size_t max_weights, const std::string& where,
                        const std::function<void(std::span<const int16_t>)>& part) {
  return Decoder(stream, max_weights, where).scan(part);
}

}  // namespace carina::npu
