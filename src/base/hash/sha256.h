// The SHA-256 hash.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace carina {

using Sha256Digest = std::array<std::byte, 32>;

// Returns the SHA-256 digest (FIPS 180-4) of the concatenated parts.
Sha256Digest sha256(std::span<const std::span<const std::byte>> parts);

// Returns the SHA-256 digest of the concatenated parts as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::span<const std::span<const std::byte>> parts);

}  // namespace carina
