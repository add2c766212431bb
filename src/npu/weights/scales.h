#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "facts/npu_enums.h"

// The encoding of per-channel scales and biases.
namespace carina::npu {

// The output stage of one channel: (accumulator + bias) * scale >> shift.
struct ChannelScale {
  int64_t bias = 0;
  uint32_t scale = 1;
  uint8_t shift = 0;
  bool operator==(const ChannelScale&) const = default;
};

// The three forms of an entry. The product and the accumulator decide which one is used.
enum class ScaleForm : uint8_t {
  kBias40Scale32,  // U55, U65
  kBias32Scale31,  // U85 with 32-bit accumulators
  kBias48Scale15,  // U85 with 48-bit accumulators
};

inline constexpr size_t kScaleEntryBytesInStream = 10;

// Returns whether bias, scale and shift (0..63) fit the form.
bool fits(const ChannelScale& scale, ScaleForm form);

// Encodes one entry. The values must fit (CARINA_CHECK).
std::array<std::byte, kScaleEntryBytesInStream> encode_scale(const ChannelScale& scale, ScaleForm form);
// Decodes one entry of kScaleEntryBytesInStream bytes.
ChannelScale decode_scale(std::span<const std::byte> entry, ScaleForm form);

// Encodes the table of consecutive channels, padded with zeros to a multiple of 16 bytes. On U65 with two cores, the
// caller passes the channels of one core. On U85, zero entries are added up to a multiple of `entry_multiple`, which is
// the microblock's depth rounded up to 16. On other products `entry_multiple` is 1.
std::vector<std::byte> encode_scales(std::span<const ChannelScale> scales, ScaleForm form, int entry_multiple);

// Decodes the first `count` entries. Error: the table is shorter.
Result<std::vector<ChannelScale>> decode_scales(std::span<const std::byte> table, size_t count, ScaleForm form,
                                                const std::string& where);

}  // namespace carina::npu
