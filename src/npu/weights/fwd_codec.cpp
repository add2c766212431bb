#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/checked_math.h"
#include "carina/check.h"
#include "npu/weights/swd_internal.h"
#include "npu/weights/weight_codec.h"

// The weights of U85's fast decoder: a header of 32 bytes, then raw bytes or indices into a small table.
//   Example: the weights 0, 5, 5, -3 have a table of 3 entries (0, 5, -3) and the 2-bit indices 0, 1, 1, 2.
namespace carina::npu {

namespace {

constexpr size_t kHeaderBytes = 32;
constexpr size_t kFwdAlignmentBytes = 32;
constexpr size_t kRawBit = 0;
constexpr size_t kSmallTableBit = 1;
constexpr size_t kZeroAdjustByte = 13;  // bits 104..111
constexpr size_t kTableFirstBit = 112;
constexpr size_t kTableEntries = 16;
constexpr size_t kSmallTableEntries = 4;
constexpr size_t kTableEntryBits = 9;

void set_bit(std::span<std::byte> bytes, size_t bit) {
  bytes[bit / 8] |= static_cast<std::byte>(1u << bit % 8);
}
bool get_bit(std::span<const std::byte> bytes, size_t bit) {
  return (static_cast<unsigned>(bytes[bit / 8]) >> bit % 8 & 1) != 0;
}

// The distinct values in the order of their first occurrence. Returns no value if there are more than kTableEntries.
std::optional<std::vector<int16_t>> small_table(std::span<const int16_t> weights) {
  std::vector<int16_t> table;
  std::array<bool, kMaxWeight - kMinWeight + 1> seen{};
  for (const int16_t weight : weights) {
    bool& known = seen[static_cast<size_t>(weight - kMinWeight)];
    if (known) continue;
    if (table.size() == kTableEntries) return std::nullopt;
    known = true;
    table.push_back(weight);
  }
  return table;
}

std::vector<std::byte> encode_table(std::span<const int16_t> weights, std::span<const int16_t> table) {
  const bool small = table.size() <= kSmallTableEntries;
  const size_t per_byte = small ? 4 : 2;
  const size_t bits = 8 / per_byte;
  std::vector<std::byte> out(round_up(kHeaderBytes + ceil_div(weights.size(), per_byte), kFwdAlignmentBytes));
  if (small) set_bit(out, kSmallTableBit);
  std::array<uint8_t, kMaxWeight - kMinWeight + 1> index_of{};
  for (size_t i = 0; i < table.size(); ++i) {
    index_of[static_cast<size_t>(table[i] - kMinWeight)] = static_cast<uint8_t>(i);
    const auto folded = static_cast<unsigned>(swd::fold(table[i]));
    for (size_t bit = 0; bit < kTableEntryBits; ++bit) {
      if ((folded >> bit & 1) != 0) set_bit(out, kTableFirstBit + i * kTableEntryBits + bit);
    }
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    const unsigned index = index_of[static_cast<size_t>(weights[i] - kMinWeight)];
    out[kHeaderBytes + i / per_byte] |= static_cast<std::byte>(index << i % per_byte * bits);
  }
  return out;
}

// Loops over lanes, so that compilers can vectorize them.
constexpr size_t kLanes = 16;

struct Range {
  int16_t min = 0;
  int16_t max = 0;
};

Range range_of(std::span<const int16_t> weights) {
  std::array<int16_t, kLanes> min, max;
  min.fill(weights.front());
  max.fill(weights.front());
  const size_t whole = weights.size() - weights.size() % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      min[lane] = std::min(min[lane], weights[i + lane]);
      max[lane] = std::max(max[lane], weights[i + lane]);
    }
  }
  Range range{.min = std::ranges::min(min), .max = std::ranges::max(max)};
  for (const int16_t weight : weights.subspan(whole))
    range = {.min = std::min(range.min, weight), .max = std::max(range.max, weight)};
  return range;
}

std::vector<std::byte> encode_raw(std::span<const int16_t> weights, int zero_adjust) {
  std::vector<std::byte> out(round_up(kHeaderBytes + weights.size(), kFwdAlignmentBytes));
  set_bit(out, kRawBit);
  out[kZeroAdjustByte] = static_cast<std::byte>(zero_adjust);
  const auto coded = [zero_adjust](int16_t weight) { return static_cast<std::byte>(weight + zero_adjust); };
  std::byte* const data = out.data() + kHeaderBytes;
  const size_t whole = weights.size() - weights.size() % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) data[i + lane] = coded(weights[i + lane]);
  }
  for (size_t i = whole; i < weights.size(); ++i) data[i] = coded(weights[i]);
  return out;
}

}  // namespace

std::vector<std::byte> encode_fwd(std::span<const int16_t> weights, FwdPacking packing) {
  if (packing == FwdPacking::kAny) {
    if (const auto table = small_table(weights)) return encode_table(weights, *table);
  }
  if (weights.empty()) return encode_raw(weights, 0);
  const auto [min, max] = range_of(weights);
  const int zero_adjust = max > INT8_MAX ? INT8_MAX - max : min < INT8_MIN ? INT8_MIN - min : 0;
  if (min + zero_adjust < INT8_MIN || max + zero_adjust > INT8_MAX) return {};
  return encode_raw(weights, zero_adjust);
}

Result<std::vector<int16_t>> decode_fwd(std::span<const std::byte> stream, size_t count, const std::string& where) {
  const auto cut_off = [&](size_t needed) {
    return fail({.where = where,
                 .what = "the fast weight stream is cut off",
                 .expected = fmt::format("{} bytes", needed),
                 .got = fmt::format("{}", stream.size())});
  };
  if (stream.size() < kHeaderBytes) return cut_off(kHeaderBytes);
  const bool raw = get_bit(stream, kRawBit);
  const size_t per_byte = raw ? 1 : get_bit(stream, kSmallTableBit) ? 4 : 2;
  // The comparison divides, so that a hostile count cannot overflow.
  if (count / per_byte > stream.size() - kHeaderBytes || ceil_div(count, per_byte) > stream.size() - kHeaderBytes) {
    return cut_off(kHeaderBytes + count / per_byte);
  }
  std::vector<int16_t> weights(count);
  const std::byte* const data = stream.data() + kHeaderBytes;
  if (raw) {
    const auto zero_adjust = static_cast<int8_t>(stream[kZeroAdjustByte]);
    for (size_t i = 0; i < count; ++i) weights[i] = static_cast<int16_t>(static_cast<int8_t>(data[i]) - zero_adjust);
    return weights;
  }
  std::array<int16_t, kTableEntries> table{};
  for (size_t i = 0; i < kTableEntries; ++i) {
    int folded = 0;
    for (size_t bit = 0; bit < kTableEntryBits; ++bit)
      folded |= static_cast<int>(get_bit(stream, kTableFirstBit + i * kTableEntryBits + bit)) << bit;
    table[i] = static_cast<int16_t>(swd::unfold(folded));
  }
  const size_t bits = 8 / per_byte;
  const unsigned mask = (1u << bits) - 1;
  for (size_t i = 0; i < count; ++i) {
    weights[i] = table[static_cast<unsigned>(data[i / per_byte]) >> i % per_byte * bits & mask];
  }
  return weights;
}

}  // namespace carina::npu
