#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace carina {

// The checksum of zip archives (APPNOTE.TXT 4.4.7): CRC-32 of IEEE 802.3, reflected. `before`: that of the bytes in front
// of these.
uint32_t crc32_of(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace carina
