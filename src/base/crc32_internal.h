#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace carina {

inline constexpr size_t kCrcBlockBytes = 16;
inline constexpr size_t kCrcLeastBytes = 64;

// crc32_of() whole blocks, kCrcLeastBytes at least, by the processor's own products of polynomials. Nothing: it has none.
std::optional<uint32_t> crc32_in_hardware(std::span<const std::byte> blocks, uint32_t before);

}  // namespace carina
