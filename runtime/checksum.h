#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace carina::runtime {

// The CRC-32 of zip and zlib (polynomial 0x04C11DB7, reflected): of "123456789" it is 0xCBF43926. `before` is the
// CRC-32 of the bytes in front of these; 0: there are none. A program has no checksum of its own: a firmware project
// computes one when it writes the image, and compares before Program::load() if its memory may change bits.
uint32_t crc32(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace carina::runtime
