#include "firmware/npu/weight_stream.h"

#include <algorithm>

namespace carina::firmware::npu_core {

namespace {

// Source of all constants: docs/npu-encoding.md.
constexpr int kNoZeroRuns = 6;
constexpr int kEndOfStream = 7;
constexpr int kMaxZeroDivisor = 3;
constexpr int kMaxWeightDivisor = 5;
constexpr int kUncompressed = 7;
constexpr int kPositions = 12;  // of a unary chunk
constexpr int kPositionsZeroDivisor3 = 8;
constexpr int kUncompressedPositionsWide = 8;
constexpr int kUncompressedNarrowBits = 5;
constexpr int32_t kMaxLead = 8;  // maximum number of weights before their zero runs
constexpr uint32_t kMaxQuotient = 1U << 24;
constexpr int32_t kFoldedWeights = 512;

int uncompressed_bits(int32_t palette_size, int palette_bits) {
  if (palette_size == 0) return palette_bits;
  int bits = 0;
  while (1 << bits < palette_size) ++bits;
  return bits;
}

}  // namespace

void WeightStream::Symbols::start(int32_t symbols) {
  length = symbols;
  position = finished = taken = 0;
  quotient = 0;
}

// Positions after the last symbol are padding.
void WeightStream::Symbols::end_symbol() {
  if (position < length) values[static_cast<size_t>(position++) % kHeld] = quotient;
  quotient = 0;
}

uint32_t WeightStream::take_bits(int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i, ++position_) {
    const size_t byte = position_ / 8;
    const bool bit = byte < bytes_.size() && (std::to_integer<unsigned>(bytes_[byte]) >> position_ % 8 & 1) != 0;
    value |= static_cast<uint32_t>(bit) << i;
  }
  return value;
}

void WeightStream::read_palette() {
  direct_offset_ = static_cast<int32_t>(take_bits(5));
  const auto size = static_cast<int32_t>(take_bits(5));
  palette_size_ = size > 0 ? size + 1 : 0;
  palette_bits_ = static_cast<int>(take_bits(3)) + 2;
  for (int32_t i = 0; i < palette_size_; ++i)
    palette_[static_cast<size_t>(i)] = static_cast<uint16_t>(take_bits(palette_bits_));
}

bool WeightStream::start_slice() {
  zero_divisor_ = static_cast<int>(take_bits(3));
  if (zero_divisor_ == kEndOfStream) return false;
  const auto length = static_cast<int32_t>(take_bits(15)) + 1;
  weight_divisor_ = static_cast<int>(take_bits(3));
  truncated_ = take_bits(1) != 0;
  const bool new_palette = take_bits(1) != 0;
  if (new_palette) read_palette();
  has_runs_ = zero_divisor_ != kNoZeroRuns;
  run_is_next_ = has_runs_ && new_palette;
  weights_.start(length);
  zeros_.start(has_runs_ ? length + (new_palette ? 1 : 0) : 0);
  const bool possible = (zero_divisor_ <= kMaxZeroDivisor || !has_runs_) &&
                        (weight_divisor_ <= kMaxWeightDivisor || weight_divisor_ == kUncompressed);
  return possible && palette_size_ >= 0 && !overrun();
}

// A second unary field has one bit for each set bit of the first. A position adds 0, 1 or 2 to the quotient. After a 2
// the symbol continues, unless quotients are truncated.
void WeightStream::read_weight_quotients(uint32_t first, bool take) {
  if (!take) return;
  for (int i = 0; i < kPositions; ++i) {
    const uint32_t one = first >> i & 1;
    const uint32_t two = one != 0 ? take_bits(1) : 0;
    weights_.quotient += one + two;
    if (two == 0 || truncated_) weights_.end_symbol();
  }
  if (weights_.position == weights_.length) weights_.quotient = 0;
}

void WeightStream::read_zero_quotients(int positions) {
  const uint32_t unary = take_bits(positions);
  for (int i = 0; i < positions; ++i) {
    if ((unary >> i & 1) != 0) {
      ++zeros_.quotient;
    } else {
      zeros_.end_symbol();
    }
  }
  if (zeros_.position == zeros_.length) zeros_.quotient = 0;
}

void WeightStream::read_remainders(Symbols& symbols, int32_t end, int bits) {
  for (; symbols.finished < end; ++symbols.finished) {
    if (bits == 0) continue;
    uint32_t& value = symbols.values[static_cast<size_t>(symbols.finished) % kHeld];
    value = (std::min(value, kMaxQuotient) << bits) + take_bits(bits);
  }
}

// Reads the next chunk. Returns false at the end of the slice.
bool WeightStream::read_chunk() {
  const bool uncompressed = weight_divisor_ == kUncompressed;
  const int weight_bits = uncompressed ? uncompressed_bits(palette_size_, palette_bits_) : weight_divisor_;
  const int32_t weights_due = weights_.position;  // remainders of the previous chunk
  const int32_t zeros_due = zeros_.position;
  const int32_t lead = weights_due - zeros_due;
  const bool take_weights = (!has_runs_ || lead < kMaxLead) && weights_.position < weights_.length;
  const bool take_zeros = has_runs_ && lead >= 0 && zeros_.position < zeros_.length;
  if (uncompressed && !has_runs_) {  // remainders only, so chunk boundaries have no effect
    weights_.end_symbol();
    read_remainders(weights_, weights_.position, weight_bits);
    return !overrun();
  }
  const uint32_t first = take_weights && !uncompressed ? take_bits(kPositions) : 0;
  if (take_zeros) read_zero_quotients(zero_divisor_ == kMaxZeroDivisor ? kPositionsZeroDivisor3 : kPositions);
  if (take_weights && uncompressed) {
    const int positions = weight_bits <= kUncompressedNarrowBits ? kPositions : kUncompressedPositionsWide;
    for (int i = 0; i < positions; ++i) weights_.end_symbol();
  } else {
    read_weight_quotients(first, take_weights);
  }
  const bool had_due = weights_.finished < weights_due || zeros_.finished < zeros_due;
  read_remainders(weights_, weights_due, weight_bits);
  read_remainders(zeros_, zeros_due, has_runs_ ? zero_divisor_ : 0);
  return !overrun() && (take_weights || take_zeros || had_due);
}

// Reads chunks until the next symbol of this kind is complete.
bool WeightStream::have(Symbols& symbols) {
  while (symbols.finished <= symbols.taken) {
    if (!read_chunk()) return false;
  }
  return true;
}

bool WeightStream::weight_of(uint32_t value, int32_t& weight) const {
  const auto index = static_cast<int32_t>(std::min(value, kMaxQuotient));
  const int32_t folded =
      index < palette_size_ ? palette_[static_cast<size_t>(index)] : index - palette_size_ + direct_offset_;
  weight = (folded & 1) != 0 ? -(folded >> 1) : folded >> 1;
  return folded < kFoldedWeights;
}

bool WeightStream::next(int32_t& weight) {
  for (;;) {
    if (zeros_left_ > 0) {
      --zeros_left_;
      weight = 0;
      return true;
    }
    if (run_is_next_) {
      if (!have(zeros_)) return false;
      zeros_left_ = zeros_.take();
      run_is_next_ = false;
      continue;
    }
    if (weights_.taken == weights_.length) {
      if (!start_slice()) return false;
      continue;
    }
    if (!have(weights_)) return false;
    run_is_next_ = has_runs_;
    return weight_of(weights_.take(), weight);
  }
}

}  // namespace carina::firmware::npu_core
