#include "npu/weights/scales.h"

#include <fmt/format.h>

#include <cstring>

#include "base/checked_math.h"
#include "carina/check.h"

namespace carina::npu {

namespace {

// The bit positions of bias, scale and shift in the ten bytes of an entry, little-endian.
struct EntryLayout {
  int bias_bytes;
  int scale_bytes;
  int scale_bits;
};
constexpr EntryLayout layout_of(ScaleForm form) {
  switch (form) {
    case ScaleForm::kBias40Scale32:
      return {.bias_bytes = 5, .scale_bytes = 4, .scale_bits = 32};
    case ScaleForm::kBias32Scale31:
      return {.bias_bytes = 4, .scale_bytes = 4, .scale_bits = 31};
    case ScaleForm::kBias48Scale15:
      return {.bias_bytes = 6, .scale_bytes = 2, .scale_bits = 15};
  }
  CARINA_UNREACHABLE("scale form", form);
}
constexpr uint64_t kShiftMask = 0x3F;

void put(std::span<std::byte> to, uint64_t value) {
  for (std::byte& byte : to) {
    byte = static_cast<std::byte>(value);
    value >>= 8;
  }
}

uint64_t word_at(const std::byte* from) {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

}  // namespace

bool fits(const ChannelScale& scale, ScaleForm form) {
  const EntryLayout layout = layout_of(form);
  const int64_t limit = int64_t{1} << (layout.bias_bytes * 8 - 1);
  return scale.bias >= -limit && scale.bias < limit && scale.scale <= (uint64_t{1} << layout.scale_bits) - 1 &&
         scale.shift <= kShiftMask;
}

std::array<std::byte, kScaleEntryBytesInStream> encode_scale(const ChannelScale& scale, ScaleForm form) {
  CARINA_CHECK(fits(scale, form), "bias {}, scale {}, shift {}", scale.bias, scale.scale, scale.shift);
  const EntryLayout layout = layout_of(form);
  std::array<std::byte, kScaleEntryBytesInStream> entry{};
  const std::span<std::byte> bytes(entry);
  const auto bias_bytes = static_cast<size_t>(layout.bias_bytes);
  const auto scale_bytes = static_cast<size_t>(layout.scale_bytes);
  put(bytes.subspan(0, bias_bytes), static_cast<uint64_t>(scale.bias));
  put(bytes.subspan(bias_bytes, scale_bytes), scale.scale);
  entry[bias_bytes + scale_bytes] = static_cast<std::byte>(scale.shift);
  return entry;
}

ChannelScale decode_scale(std::span<const std::byte> entry, ScaleForm form) {
  CARINA_CHECK(entry.size() == kScaleEntryBytesInStream, "a scale entry of {} bytes", entry.size());
  const EntryLayout layout = layout_of(form);
  const int unused_bits = 64 - layout.bias_bytes * 8;
  const uint64_t scale_mask = (uint64_t{1} << layout.scale_bits) - 1;
  const auto shift_byte = static_cast<size_t>(layout.bias_bytes + layout.scale_bytes);
  // The entry without its first two bytes. A bias may be wider than the 64 bits of one word.
  const uint64_t upper = word_at(entry.data() + 2);
  return {.bias = static_cast<int64_t>(word_at(entry.data()) << unused_bits) >> unused_bits,
          .scale = static_cast<uint32_t>(upper >> (layout.bias_bytes * 8 - 16) & scale_mask),
          .shift = static_cast<uint8_t>(static_cast<uint64_t>(entry[shift_byte]) & kShiftMask)};
}

std::vector<std::byte> encode_scales(std::span<const ChannelScale> scales, ScaleForm form, int entry_multiple) {
  const size_t entries = round_up(scales.size(), static_cast<size_t>(entry_multiple));
  std::vector<std::byte> table(round_up(entries * kScaleEntryBytesInStream, size_t{16}));
  for (size_t i = 0; i < scales.size(); ++i) {
    const auto entry = encode_scale(scales[i], form);
    std::copy(entry.begin(), entry.end(), table.begin() + static_cast<ptrdiff_t>(i * kScaleEntryBytesInStream));
  }
  return table;
}

Result<std::vector<ChannelScale>> decode_scales(std::span<const std::byte> table, size_t count, ScaleForm form,
                                                const std::string& where) {
  if (count > table.size() / kScaleEntryBytesInStream) {
    return fail({.where = where,
                 .what = "the scale table is too short",
                 .expected = fmt::format("{} entries of {} bytes", count, kScaleEntryBytesInStream),
                 .got = fmt::format("{} bytes", table.size())});
  }
  std::vector<ChannelScale> scales(count);
  for (size_t i = 0; i < count; ++i)
    scales[i] = decode_scale(table.subspan(i * kScaleEntryBytesInStream, kScaleEntryBytesInStream), form);
  return scales;
}

}  // namespace carina::npu
