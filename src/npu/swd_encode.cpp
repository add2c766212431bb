#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "npu/swd_plan_internal.h"
#include "npu/weight_codec.h"

namespace carina::npu {

namespace {

using namespace swd;

class BitWriter {
 public:
  void put(uint64_t value, int bits) {  // bits <= 32
    window_ |= value << filled_;
    filled_ += bits;
    if (filled_ < kWordBits) return;
    words_.push_back(static_cast<uint32_t>(window_));
    window_ >>= kWordBits;
    filled_ -= kWordBits;
  }
  // Bytes, the first bits lowest; what is left of the last 16 is ones.
  std::vector<std::byte> finish() && {
    const size_t whole_bytes = words_.size() * sizeof(uint32_t);
    const int last_bytes = (filled_ + 7) / 8;
    words_.push_back(static_cast<uint32_t>(window_ | ~uint64_t{0} << filled_));
    std::vector<std::byte> out(round_up<size_t>(whole_bytes + static_cast<size_t>(last_bytes), 16), std::byte{0xFF});
    for (size_t i = 0; i < whole_bytes + static_cast<size_t>(last_bytes); ++i)
      out[i] = static_cast<std::byte>(words_[i / 4] >> 8 * (i % 4));
    return out;
  }
  void reserve(size_t bytes) { words_.reserve(bytes / sizeof(uint32_t)); }

 private:
  static constexpr int kWordBits = 32;
  std::vector<uint32_t> words_;
  uint64_t window_ = 0;
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
  symbols.values.reserve(weights.size());
  symbols.runs.reserve(weights.size());
  uint32_t run = 0;
  for (const int16_t weight : weights) {
    if (weight == 0) {
      ++run;
      continue;
    }
    symbols.runs.push_back(run);
    run = 0;
    symbols.values.push_back(value[static_cast<size_t>(fold(weight))]);
  }
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

std::vector<PieceCost> piece_costs(const Symbols& symbols, const Palette& palette) {
  std::vector<PieceCost> costs;
  for (size_t begin = 0; begin < symbols.values.size(); begin += kPieceValues) {
    const size_t end = std::min(begin + kPieceValues, symbols.values.size());
    Histogram histogram;
    for (size_t i = begin; i < end; ++i) histogram.add(symbols.values[i], 1);
    const ValueSums sums = std::move(histogram).into_sums(0);
    PieceCost cost;
    for (int i = 0; i < kWeightCodes; ++i) cost.weight[static_cast<size_t>(i)] = bits_of(sums, weight_code(i), palette);
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

// The unary parts of one chunk, and the symbols whose remainders follow a chunk later.
struct UnaryState {
  size_t position = 0;    // symbols with a quotient written
  uint32_t quotient = 0;  // what is left of the symbol under way
  bool open = false;      // a symbol is under way
};

struct WeightUnary {
  uint32_t unary0 = 0;
  uint32_t unary1 = 0;
  int unary1_bits = 0;
};

// Without branches: quotients are as good as random.
WeightUnary weight_unary(std::span<const uint16_t> values, UnaryState& state, WeightCode code) {
  WeightUnary out;
  for (int i = 0; i < kUnaryPositions && state.position < values.size(); ++i) {
    const uint32_t quotient = state.open ? state.quotient : uint32_t{values[state.position]} >> code.wdiv;
    const uint32_t add = std::min(quotient, 2u);
    out.unary0 |= (add + 1) / 2 << i;
    out.unary1 |= add / 2 << out.unary1_bits;
    out.unary1_bits += static_cast<int>((add + 1) / 2);
    state.quotient = quotient - add;
    state.open = add == 2 && !code.truncated;
    state.position += state.open ? 0 : 1;
  }
  return out;
}

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
  if (divisor > 0) {
    for (size_t i = done; i < end; ++i) bits.put(symbols[i] & ((1u << divisor) - 1), divisor);
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
  UnaryState weights;
  UnaryState zeros;
  size_t weights_done = 0;
  size_t zeros_done = 0;
  for (bool previous = true; previous;) {
    const size_t weights_due = weights.position;
    const size_t zeros_due = zeros.position;
    const bool put_weights =
        (!zero_runs || weights.position < zeros.position + kMaxLead) && weights.position < values.size();
    const bool put_zeros = zero_runs && weights.position >= zeros.position && zeros.position < runs.size();
    WeightUnary unary;
    if (put_weights && uncompressed)
      weights.position = std::min(weights.position + uncompressed_positions, values.size());
    if (put_weights && !uncompressed) {
      unary = weight_unary(values, weights, slice.code);
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

}  // namespace

std::vector<std::byte> encode_swd(std::span<const int16_t> weights) {
  const auto out_of_range = std::ranges::find_if(weights, [](int16_t w) { return w < kMinWeight || w > kMaxWeight; });
  CARINA_CHECK(out_of_range == weights.end(), "weight {}", *out_of_range);
  BitWriter bits;
  bits.reserve(weights.size() + 64);
  for (const Section& section : make_sections(weights))
    write_section(bits, weights.subspan(section.begin, section.end - section.begin), section.choice);
  bits.put(kZdivEndOfStream, kZdivBits);
  return std::move(bits).finish();
}

}  // namespace carina::npu
