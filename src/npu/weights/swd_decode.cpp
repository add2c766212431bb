#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "npu/weights/swd_bits_internal.h"
#include "npu/weights/swd_tables_internal.h"
#include "npu/weights/weight_codec.h"

// Decodes the streams of the standard weight decoder. A stream is a sequence of slices; a slice has a header, then
// chunks of unary codes (quotients) and remainders. docs/npu-encoding.md describes the format.
//   Example: divisor 2^2, quotient 1 and remainder 3 are the coded value 1 * 4 + 3 = 7.
namespace carina::npu {

namespace {

using namespace swd;

// Quotients are clamped to this value, so that they cannot overflow. A larger quotient is rejected later: no weight is
// so large, and no operation has so many zeros.
constexpr uint32_t kMaxQuotient = 1u << 24;

constexpr int kMaxWeightBits = 9;  // width of an uncompressed value
constexpr size_t kReservedWeightsPerByte = 4;

struct SliceHeader {
  int zdiv = 0;
  int length = 0;
  int wdiv = 0;
  bool truncated = false;  // the quotients of weights are at most 2 and have no stop bit
  bool new_palette = false;
};

// The decoded symbols of one kind in a slice. The quotients of a chunk come before its remainders.
struct Symbols {
  std::vector<uint32_t>& quotients;
  std::vector<uint32_t>& values;
  int length = 0;         // number of symbols in the slice
  int position = 0;       // number of symbols with a decoded quotient
  int finished = 0;       // number of symbols with a decoded remainder
  uint32_t quotient = 0;  // partial quotient of the current symbol

  // Limits the positions to the slice. Positions after the last symbol are padding.
  void clip() {
    quotient = std::min(quotient, kMaxQuotient);
    if (position < length) return;
    position = length;
    quotient = 0;
  }
};

// Appends the symbols of all steps. Each step writes four quotients, complete or not. `quotients` therefore has spare
// elements after its last symbol, and later symbols overwrite incomplete ones.
template <typename... Step>
void add_steps(Symbols& symbols, const Step&... steps) {
  uint32_t* const begin = symbols.quotients.data();
  uint32_t* to = begin + symbols.position;
  uint32_t quotient = symbols.quotient;
  const auto add = [&](const UnaryStep& step) {
    const uint32_t first = step.quotients[0] + quotient;
    std::memcpy(to, step.quotients.data(), sizeof step.quotients);
    *to = first;
    quotient = step.ended != 0 ? step.rest : quotient + step.rest;
    to += step.ended;
  };
  (add(steps), ...);
  symbols.position = static_cast<int>(to - begin);
  symbols.quotient = quotient;
  symbols.clip();
}

// Combines `count` quotients of a chunk with the remainders in the bits after them, and calls use(index, value) for
// each. The values of the first part are always computed; those of the second part only if `count` reaches it. Most
// chunks have no more symbols than the first part.
template <int kDivisorBits, typename Use>
void for_chunk(const BitReader& bits, const uint32_t* quotients, int count, const Use& use) {
  constexpr int kFirst = 8 * kDivisorBits <= kWindowBits ? 8 : 6;
  static_assert(kFirst * kDivisorBits <= kWindowBits && (kUnaryPositions - kFirst) * kDivisorBits <= kWindowBits);
  constexpr uint64_t kMask = (uint64_t{1} << kDivisorBits) - 1;
  const auto part = [&]<int... kAt>(uint64_t window, int first, std::integer_sequence<int, kAt...>) {
    (use(first + kAt,
         (quotients[first + kAt] << kDivisorBits) + static_cast<uint32_t>(window >> (kAt * kDivisorBits) & kMask)),
     ...);
  };
  part(bits.peek(), 0, std::make_integer_sequence<int, kFirst>());
  if (count > kFirst)
    part(bits.peek_after(kFirst * kDivisorBits), kFirst, std::make_integer_sequence<int, kUnaryPositions - kFirst>());
}

// Calls function(std::integral_constant<int, bits>) for the given bits, which are below kCount.
template <int kCount, typename Function>
void with_constant(int bits, const Function& function) {
  if constexpr (kCount > 1) {
    if (bits < kCount - 1) return with_constant<kCount - 1>(bits, function);
  }
  function(std::integral_constant<int, kCount - 1>());
}

class Decoder {
 public:
  Decoder(std::span<const std::byte> stream, size_t max_weights, std::string where)
      : bits_(stream), max_weights_(max_weights), where_(std::move(where)) {
    palette_.size = -1;  // no palette yet
  }

  // Returns the weights of the next slice, including zeros. The result is empty at the end of the stream.
  Result<std::span<const int16_t>> next();
  [[nodiscard]] size_t found() const { return found_; }

 private:
  Result<bool> read_header(SliceHeader& header);
  void read_palette();
  void read_chunks(const SliceHeader& header, Symbols& weights, Symbols& zeros);
  void read_weight_quotients(Symbols& weights, uint32_t unary0, bool truncated);
  void read_zero_quotients(Symbols& zeros, uint32_t unary, int positions) const;
  void read_remainders(Symbols& symbols, int end, int divisor_bits);
  template <int kDivisorBits>
  void read_dense_slice(const SliceHeader& header, Symbols& weights);
  Result<void> read_sparse_slice(const SliceHeader& header, Symbols& weights, Symbols& zeros);
  Result<void> count(size_t more);
  [[nodiscard]] std::unexpected<Diagnostics> bad(std::string what, std::string expected, std::string got) const {
    return fail({.where = fmt::format("{}: weight stream, bit {}", where_, bits_.position()),
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .got = std::move(got)});
  }
  [[nodiscard]] std::unexpected<Diagnostics> out_of_range() const {
    return bad("a weight is out of range", fmt::format("{} to {}", kMinWeight, kMaxWeight), "");
  }

  // Spare elements for symbols that are read beyond the end of a slice.
  static constexpr size_t kRoom = 2 * kUnaryPositions;
  template <typename T>
  static void make_space(std::vector<T>& values, int length) {
    values.resize(std::max(values.size(), static_cast<size_t>(length) + kRoom));
  }

  BitReader bits_;
  size_t max_weights_;
  std::string where_;
  Palette palette_;
  Weights weight_of_{};
  // These buffers grow to the length of the longest slice.
  std::vector<uint32_t> weight_quotients_{};
  std::vector<uint32_t> weight_values_{};  // for slices with zero runs
  std::vector<uint32_t> zero_quotients_{};
  std::vector<uint32_t> zero_runs_{};
  std::vector<int16_t> dense_{};
  std::vector<int16_t> sparse_{};
  size_t found_ = 0;  // number of weights so far, including zeros
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
  weight_of_ = weights_of(palette_);
}

// The second unary field has one bit for each set bit of the first. So the start of the next field, and the start of
// each step's share of the field, are known before the symbols are decoded.
void Decoder::read_weight_quotients(Symbols& weights, uint32_t unary0, bool truncated) {
  const auto& steps = kWeightSteps[truncated ? 1 : 0];
  const auto unary1 = static_cast<uint32_t>(bits_.peek());
  bits_.skip(kSetBits[unary0]);
  const auto step = [&](int at) -> const UnaryStep& {
    const uint32_t before = unary0 & ((1u << at) - 1);
    return steps[(unary0 >> at & 15) | (unary1 >> kSetBits[before] & 15) << 4];
  };
  static_assert(kUnaryPositions == 12);
  add_steps(weights, step(0), step(4), step(8));
}

void Decoder::read_zero_quotients(Symbols& zeros, uint32_t unary, int positions) const {
  const auto step = [&](int at) -> const UnaryStep& { return kZeroSteps[unary >> at & 15]; };
  if (positions == kUnaryPositions) return add_steps(zeros, step(0), step(4), step(8));
  static_assert(kUnaryPositionsZdiv3 == 8);
  add_steps(zeros, step(0), step(4));
}

// Always reads the remainders of a whole chunk, even if the chunk completes fewer symbols. Remainders that were read
// too early are overwritten later.
void Decoder::read_remainders(Symbols& symbols, int end, int divisor_bits) {
  with_constant<kMaxWeightBits + 1>(divisor_bits, [&](auto bits) {
    for (int i = symbols.finished; i < end; i += kUnaryPositions) {
      uint32_t* const values = symbols.values.data() + i;
      const int count = std::min(kUnaryPositions, end - i);
      for_chunk<decltype(bits)::value>(bits_, symbols.quotients.data() + i, count,
                                       [&](int at, uint32_t value) { values[at] = value; });
      bits_.skip(count * divisor_bits);
    }
  });
  symbols.finished = std::max(symbols.finished, end);
}

// Reads a slice without zero runs. Values become weights immediately.
template <int kDivisorBits>
void Decoder::read_dense_slice(const SliceHeader& header, Symbols& weights) {
  BitReader& bits = bits_;
  const Weights& weight_of = weight_of_;
  bool more = true;
  while (more && !bits.overrun()) {
    const int due = weights.position;  // remainders of the previous chunk
    more = due < weights.length;
    if (more) read_weight_quotients(weights, bits.take(kUnaryPositions), header.truncated);
    for (; weights.finished < due; weights.finished += kUnaryPositions) {
      int16_t* const to = dense_.data() + weights.finished;
      const int count = std::min(kUnaryPositions, due - weights.finished);
      for_chunk<kDivisorBits>(bits, weights.quotients.data() + weights.finished, count, [&](int at, uint32_t value) {
        to[at] = weight_of[std::min<size_t>(value, weight_of.size() - 1)];
      });
      bits.skip(count * kDivisorBits);
    }
    weights.finished = due;
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
    // Without quotients the slice consists of remainders only, and chunk boundaries have no effect.
    std::fill_n(weights.quotients.begin(), weights.length, 0u);
    read_remainders(weights, weights.length, weight_bits);
    return;
  }
  bool previous = false;
  do {
    const int weights_due = weights.position;  // remainders of the previous chunk
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

Result<void> Decoder::count(size_t more) {
  if (more > max_weights_ - found_) {
    return bad("the stream has more weights than its operation", std::to_string(max_weights_),
               fmt::format("at least {}", found_ + more));
  }
  found_ += more;
  return {};
}

// Reads a slice with zero runs or with uncompressed values.
Result<void> Decoder::read_sparse_slice(const SliceHeader& header, Symbols& weights, Symbols& zeros) {
  read_chunks(header, weights, zeros);
  if (bits_.overrun()) return bad("the stream ends inside a slice", "", "");
  const auto values = std::span<const uint32_t>(weights.values).first(static_cast<size_t>(header.length));
  const auto runs = std::span<const uint32_t>(zeros.values).first(static_cast<size_t>(zeros.length));
  const auto known = static_cast<uint32_t>(known_values(palette_));
  if (std::ranges::any_of(values, [&](uint32_t value) { return value >= known; })) return out_of_range();
  size_t total = values.size();
  for (const uint32_t run : runs) total += run;
  CARINA_CHECKED(count(total));
  sparse_.assign(total, 0);
  int16_t* to = sparse_.data();
  auto run = runs.begin();
  if (header.new_palette && run != runs.end()) to += *run++;
  for (const uint32_t value : values) {
    *to++ = weight_of_[value];
    if (run != runs.end()) to += *run++;
  }
  return {};
}

Result<std::span<const int16_t>> Decoder::next() {
  SliceHeader header;
  CARINA_TRY(const bool more, read_header(header));
  if (!more) return std::span<const int16_t>();
  const bool zero_runs = header.zdiv != kZdivNone;
  make_space(weight_quotients_, header.length);
  Symbols weights{.quotients = weight_quotients_, .values = weight_values_, .length = header.length};
  Symbols zeros{.quotients = zero_quotients_,
                .values = zero_runs_,
                .length = zero_runs ? header.length + (header.new_palette ? 1 : 0) : 0};
  if (zero_runs || header.wdiv == kWdivUncompressed) {
    make_space(weight_values_, header.length);
    make_space(zero_quotients_, header.length + 1);
    make_space(zero_runs_, header.length + 1);
    CARINA_CHECKED(read_sparse_slice(header, weights, zeros));
    return std::span<const int16_t>(sparse_);
  }
  make_space(dense_, header.length);
  with_constant<kMaxWdiv + 1>(header.wdiv,
                              [&](auto bits) { read_dense_slice<decltype(bits)::value>(header, weights); });
  if (bits_.overrun()) return bad("the stream ends inside a slice", "", "");
  const auto slice = std::span<const int16_t>(dense_).first(static_cast<size_t>(header.length));
  if (has_unknown(slice)) return out_of_range();
  CARINA_CHECKED(count(slice.size()));
  return slice;
}

}  // namespace

struct SwdReader::State : Decoder {
  using Decoder::Decoder;
};

SwdReader::SwdReader(std::span<const std::byte> stream, size_t max_weights, std::string where)
    : state_(std::make_unique<State>(stream, max_weights, std::move(where))) {}
SwdReader::~SwdReader() = default;

Result<std::span<const int16_t>> SwdReader::next() {
  return state_->next();
}

Result<std::vector<int16_t>> decode_swd(std::span<const std::byte> stream, size_t max_weights,
                                        const std::string& where) {
  Decoder decoder(stream, max_weights, where);
  std::vector<int16_t> weights;
  // Reserves enough memory for typical dense weights, so that the vector is not copied while it grows. The length of
  // the stream bounds the reservation.
  weights.reserve(std::min(max_weights, stream.size() * kReservedWeightsPerByte));
  while (true) {
    CARINA_TRY(const std::span<const int16_t> slice, decoder.next());
    if (slice.empty()) return weights;
    weights.insert(weights.end(), slice.begin(), slice.end());
  }
}

Result<size_t> scan_swd(std::span<const std::byte> stream, size_t max_weights, const std::string& where,
                        const std::function<void(std::span<const int16_t>)>& part) {
  Decoder decoder(stream, max_weights, where);
  while (true) {
    CARINA_TRY(const std::span<const int16_t> slice, decoder.next());
    if (slice.empty()) return decoder.found();
    part(slice);
  }
}

}  // namespace carina::npu
