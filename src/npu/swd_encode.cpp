#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "npu/swd_plan_internal.h"
#include "npu/weight_codec.h"

namespace carina::npu {

namespace {

using namespace swd;

// Bits one after the other, the first lowest.
class BitWriter {
 public:
  static constexpr int kMostBits = 56;  // at a time

  explicit BitWriter(size_t expected_bytes) : bytes_(expected_bytes + sizeof(uint64_t)) {}
  void put(uint64_t value, int bits) {
    window_ |= value << filled_;
    if (at_ + sizeof window_ > bytes_.size()) bytes_.resize(2 * bytes_.size());
    std::memcpy(bytes_.data() + at_, &window_, sizeof window_);
    filled_ += bits;
    at_ += static_cast<size_t>(filled_ / 8);
    window_ >>= filled_ / 8 * 8;
    filled_ %= 8;
  }
  // In multiples of 16 bytes; what is left of the last 16 is ones.
  std::vector<std::byte> finish() && {
    if (filled_ > 0) put(0xFF >> filled_, 8 - filled_);
    bytes_.resize(at_);
    bytes_.resize(round_up<size_t>(at_, 16), std::byte{0xFF});
    bytes_.shrink_to_fit();
    return std::move(bytes_);
  }

 private:
  static_assert(std::endian::native == std::endian::little);
  std::vector<std::byte> bytes_;
  size_t at_ = 0;
  uint64_t window_ = 0;  // what is not a whole byte yet
  int filled_ = 0;
};

// A section as symbols: values of the palette, and the run of zeros before the first and after each of them.
struct Symbols {
  std::vector<uint16_t> values;
  std::vector<uint32_t> runs;  // empty without zero runs
};

Symbols symbols_of(std::span<const int16_t> weights, const Choice& choice) {
  const auto value = value_table(choice.palette);
  Symbols symbols;
  if (choice.zero_runs == ZeroRuns::kNo) {
    symbols.values.resize(weights.size());
    std::ranges::transform(weights, symbols.values.begin(),
                           [&](int16_t weight) { return value[static_cast<size_t>(fold(weight))]; });
    return symbols;
  }
  symbols.values.resize(weights.size());
  symbols.runs.resize(weights.size());
  uint32_t run = 0;
  size_t count = 0;
  for (const int16_t weight : weights) {  // without branches: where zeros stand is as good as random
    symbols.runs[count] = run;
    symbols.values[count] = value[static_cast<size_t>(fold(weight))];
    count += weight != 0 ? 1 : 0;
    run = weight != 0 ? 0 : run + 1;
  }
  symbols.values.resize(count);
  symbols.runs.resize(count);
  if (symbols.values.empty()) {
    symbols.values.push_back(value[0]);
    symbols.runs.push_back(--run);
    run = 0;
  }
  symbols.runs.push_back(run);
  return symbols;
}

struct Slice {
  size_t begin = 0;  // values
  size_t end = 0;
  WeightCode code;
  int zdiv = kZdivNone;
};

// The bits of a piece of the section under each weight code and each divisor of zero runs.
struct PieceCost {
  std::array<uint64_t, kWeightCodes> weight{};
  std::array<uint64_t, kMaxZdiv + 1> zero{};
};

constexpr size_t kPieceValues = 512;
constexpr size_t kLanes = 16;

// In lanes, which compilers make vectors of. A piece's quotients fit 16 bits in each.
Quotients quotients_of(std::span<const uint16_t> values, int divisor) {
  static_assert(kPieceValues / kLanes * (kMaxFolded + kMaxPaletteSize) <= UINT16_MAX);
  std::array<uint16_t, kLanes> sums{}, twos{};
  const size_t whole = values.size() - values.size() % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const auto quotient = static_cast<uint16_t>(values[i + lane] >> divisor);
      sums[lane] = static_cast<uint16_t>(sums[lane] + quotient);
      twos[lane] = static_cast<uint16_t>(twos[lane] + (quotient == 2 ? 1 : 0));
    }
  }
  Quotients total{.values = values.size()};
  for (size_t lane = 0; lane < kLanes; ++lane) {
    total.sum += sums[lane];
    total.twos += twos[lane];
  }
  for (const uint16_t value : values.subspan(whole)) {
    total.sum += static_cast<uint64_t>(value >> divisor);
    total.twos += value >> divisor == 2 ? 1 : 0;
  }
  return total;
}

PieceCost weight_cost(std::span<const uint16_t> values, const Palette& palette) {
  PieceCost cost;
  const uint32_t max = *std::ranges::max_element(values);
  for (int d = 0; d <= kMaxWdiv; ++d) {
    Quotients quotients = quotients_of(values, d);
    quotients.max = max;
    for (const int i : {2 * d, 2 * d + 1})
      cost.weight[static_cast<size_t>(i)] = bits_of(quotients, weight_code(i), palette);
  }
  cost.weight[kWeightCodes - 1] =
      bits_of({.values = values.size(), .max = max}, weight_code(kWeightCodes - 1), palette);
  return cost;
}

std::vector<PieceCost> piece_costs(const Symbols& symbols, const Palette& palette) {
  std::vector<PieceCost> costs;
  for (size_t begin = 0; begin < symbols.values.size(); begin += kPieceValues) {
    const size_t end = std::min(begin + kPieceValues, symbols.values.size());
    PieceCost cost = weight_cost(std::span(symbols.values).subspan(begin, end - begin), palette);
    if (!symbols.runs.empty()) {
      // The run before the section's first weight belongs to its first piece.
      for (size_t i = begin == 0 ? 0 : begin + 1; i < end + 1; ++i) {
        for (size_t d = 0; d < cost.zero.size(); ++d) cost.zero[d] += (symbols.runs[i] >> d) + 1 + d;
      }
    }
    costs.push_back(cost);
  }
  return costs;
}

// The cheapest series of slices: per piece and per code, the cheapest way to get there, staying with the code or
// changing for a header.
std::vector<Slice> choose_slices(const Symbols& symbols, const Palette& palette) {
  constexpr int kSwitchBits = kSliceHeaderBits + kSliceTailBits;
  const bool zero_runs = !symbols.runs.empty();
  const int zero_codes = zero_runs ? kMaxZdiv + 1 : 1;
  const int states = kWeightCodes * zero_codes;
  const std::vector<PieceCost> pieces = piece_costs(symbols, palette);
  std::vector<uint64_t> cost(static_cast<size_t>(states), 0);
  std::vector<std::vector<int16_t>> from(pieces.size(), std::vector<int16_t>(static_cast<size_t>(states)));
  for (size_t p = 0; p < pieces.size(); ++p) {
    const int best = static_cast<int>(std::ranges::min_element(cost) - cost.begin());
    const uint64_t switched = cost[static_cast<size_t>(best)] + kSwitchBits;
    for (int s = 0; s < states; ++s) {
      uint64_t& own = cost[static_cast<size_t>(s)];
      const bool stays = own <= switched;
      from[p][static_cast<size_t>(s)] = static_cast<int16_t>(stays ? s : best);
      own = std::min(own, switched) + pieces[p].weight[static_cast<size_t>(s / zero_codes)] +
            (zero_runs ? pieces[p].zero[static_cast<size_t>(s % zero_codes)] : 0);
      own = std::min(own, kImpossible);
    }
  }
  int state = static_cast<int>(std::ranges::min_element(cost) - cost.begin());
  std::vector<Slice> slices;
  for (size_t p = pieces.size(); p-- > 0;) {
    const size_t begin = p * kPieceValues;
    const size_t end = std::min(begin + kPieceValues, symbols.values.size());
    const int zdiv = zero_runs ? state % zero_codes : kZdivNone;
    const WeightCode code = weight_code(state / zero_codes);
    const bool same = !slices.empty() && slices.back().zdiv == zdiv && slices.back().code.wdiv == code.wdiv &&
                      slices.back().code.truncated == code.truncated;
    if (same && slices.back().end - begin <= kMaxSliceWeights) {
      slices.back().begin = begin;
    } else {
      slices.push_back({.begin = begin, .end = end, .code = code, .zdiv = zdiv});
    }
    state = from[p][static_cast<size_t>(state)];
  }
  std::ranges::reverse(slices);
  return slices;
}

// ---- Writing ----

// The unary part of one chunk.
struct WeightUnary {
  uint32_t unary0 = 0;
  uint32_t unary1 = 0;
  int unary1_bits = 0;
};

constexpr auto kOnes = [] {  // in the positions of a chunk
  std::array<uint8_t, 1 << kUnaryPositions> ones{};
  for (size_t i = 0; i < ones.size(); ++i) ones[i] = static_cast<uint8_t>(std::popcount(i));
  return ones;
}();

// Quotients as unary codes. A position codes 0, 1 or 2 of a quotient: a bit of unary0, and if that is set, one of unary1.
// After a 2 the quotient goes on at the next position, unless the code is truncated.
class WeightUnaryWriter {
 public:
  WeightUnaryWriter(std::span<const uint16_t> values, WeightCode code) : values_(values), code_(code) {}

  [[nodiscard]] size_t written() const { return written_; }  // values, to their quotients' ends
  void skip(size_t values) { written_ = taken_ = std::min(written_ + values, values_.size()); }
  WeightUnary chunk() {
    while (positions_ < kUnaryPositions && (rest_ > 0 || taken_ < values_.size())) take();
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
  static constexpr uint32_t kMostQuotient = 64;  // at a time: what a chunk leaves and 33 positions fit the windows

  void take() {
    uint32_t quotient = rest_ > 0 ? rest_ : uint32_t{values_[taken_]} >> code_.wdiv;
    rest_ = 0;
    if (quotient > kMostQuotient) {
      rest_ = quotient - kMostQuotient;
      append(kMostQuotient, kMostQuotient / 2, 0);
      return;
    }
    ++taken_;
    const int positions = code_.truncated ? 1 : static_cast<int>(quotient / 2) + 1;
    append(quotient, positions, uint64_t{1} << (positions - 1));
  }
  // The ones of unary0, a one of unary1 for each 2, and where values end.
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
  size_t taken_ = 0;
  size_t written_ = 0;
  uint32_t rest_ = 0;  // of a long quotient
  uint64_t unary0_ = 0, unary1_ = 0, ends_ = 0;
  int positions_ = 0, unary1_bits_ = 0;
};

// A run of zeros under way.
struct UnaryState {
  size_t position = 0;    // runs with their quotient written
  uint32_t quotient = 0;  // what is left of the run under way
  bool open = false;      // a run is under way
};

uint32_t zero_unary(std::span<const uint32_t> runs, UnaryState& state, int zdiv, int positions) {
  uint32_t unary = 0;
  for (int i = 0; i < positions && state.position < runs.size(); ++i) {
    if (!state.open) state.quotient = runs[state.position] >> zdiv;
    state.open = state.quotient != 0;
    if (state.open) {
      unary |= 1u << i;
      --state.quotient;
    } else {
      ++state.position;
    }
  }
  return unary;
}

template <typename T>
void put_remainders(BitWriter& bits, std::span<const T> symbols, size_t& done, size_t end, int divisor) {
  constexpr size_t kTogether = 6;
  static_assert(kTogether * std::bit_width(size_t{kMaxFolded}) <= BitWriter::kMostBits);
  const uint64_t mask = (uint64_t{1} << divisor) - 1;
  while (divisor > 0 && done < end) {
    const size_t stop = std::min(done + kTogether, end);
    uint64_t together = 0;
    int filled = 0;
    for (; done < stop; ++done, filled += divisor) together |= (symbols[done] & mask) << filled;
    bits.put(together, filled);
  }
  done = end;
}

void write_chunks(BitWriter& bits, std::span<const uint16_t> values, std::span<const uint32_t> runs, const Slice& slice,
                  const Palette& palette) {
  const bool zero_runs = slice.zdiv != kZdivNone;
  const bool uncompressed = slice.code.wdiv == kWdivUncompressed;
  const int weight_bits = uncompressed ? uncompressed_bits(palette) : slice.code.wdiv;
  const int zero_positions = slice.zdiv == kMaxZdiv ? kUnaryPositionsZdiv3 : kUnaryPositions;
  const size_t uncompressed_positions =
      weight_bits <= kUncompressedNarrowBits ? kUnaryPositions : kUncompressedPositionsWide;
  WeightUnaryWriter weights(values, slice.code);
  UnaryState zeros;
  size_t weights_done = 0;
  size_t zeros_done = 0;
  for (bool previous = true; previous;) {
    const size_t weights_due = weights.written();
    const size_t zeros_due = zeros.position;
    const bool put_weights = (!zero_runs || weights_due < zeros.position + kMaxLead) && weights_due < values.size();
    const bool put_zeros = zero_runs && weights_due >= zeros.position && zeros.position < runs.size();
    WeightUnary unary;
    if (put_weights && uncompressed) weights.skip(uncompressed_positions);
    if (put_weights && !uncompressed) {
      unary = weights.chunk();
      bits.put(unary.unary0, kUnaryPositions);
    }
    if (put_zeros) bits.put(zero_unary(runs, zeros, slice.zdiv, zero_positions), zero_positions);
    bits.put(unary.unary1, unary.unary1_bits);
    put_remainders(bits, values, weights_done, weights_due, weight_bits);
    put_remainders(bits, runs, zeros_done, zeros_due, zero_runs ? slice.zdiv : 0);
    previous = put_weights || put_zeros;
  }
}

void write_section(BitWriter& bits, std::span<const int16_t> weights, const Choice& choice) {
  const Symbols symbols = symbols_of(weights, choice);
  const Palette& palette = choice.palette;
  for (const Slice& slice : choose_slices(symbols, palette)) {
    const bool first = slice.begin == 0;
    bits.put(static_cast<uint64_t>(slice.zdiv), kZdivBits);
    bits.put(slice.end - slice.begin - 1, kSliceLengthBits);
    bits.put(static_cast<uint64_t>(slice.code.wdiv), kWdivBits);
    bits.put(slice.code.truncated ? 1 : 0, 1);
    bits.put(first ? 1 : 0, 1);
    if (first) {
      bits.put(static_cast<uint64_t>(palette.direct_offset), kDirectOffsetBits);
      bits.put(static_cast<uint64_t>(std::max(palette.size - 1, 0)), kPaletteSizeBits);
      bits.put(static_cast<uint64_t>(palette.bits - kPaletteBitsBias), kPaletteBitsBits);
      for (int i = 0; i < palette.size; ++i) bits.put(palette.entries[static_cast<size_t>(i)], palette.bits);
    }
    const std::span<const uint16_t> values(symbols.values.data() + slice.begin, slice.end - slice.begin);
    // runs[i + 1] follows values[i]; the first slice of a section starts with runs[0].
    const size_t first_run = first ? 0 : slice.begin + 1;
    const std::span<const uint32_t> runs =
        symbols.runs.empty() ? std::span<const uint32_t>()
                             : std::span<const uint32_t>(symbols.runs.data() + first_run, slice.end + 1 - first_run);
    write_chunks(bits, values, runs, slice, palette);
  }
}

void check_range(std::span<const int16_t> weights) {
  bool in_range = true;
  for (const int16_t w : weights) in_range &= w >= kMinWeight && w <= kMaxWeight;
  if (in_range) return;
  const auto out_of_range = std::ranges::find_if(weights, [](int16_t w) { return w < kMinWeight || w > kMaxWeight; });
  CARINA_CHECK(out_of_range == weights.end(), "weight {}", *out_of_range);
}

}  // namespace

std::vector<std::byte> encode_swd(std::span<const int16_t> weights) {
  check_range(weights);
  BitWriter bits(weights.size() + 64);
  for (const Section& section : make_sections(weights))
    write_section(bits, weights.subspan(section.begin, section.end - section.begin), section.choice);
  bits.put(kZdivEndOfStream, kZdivBits);
  return std::move(bits).finish();
}

}  // namespace carina::npu
