#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace carina {

// The SHA-256 digest (FIPS 180-4) of the parts one after the other, as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::span<const std::span<const std::byte>> parts);

}  // namespace carina
