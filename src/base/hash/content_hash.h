#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace carina {

// A 64-bit hash of bytes, the same on every machine; equal content still has to be compared. Not cryptographic.
uint64_t content_hash(std::span<const std::byte> bytes, uint64_t seed = 0);

// The same of a sixty-fourth of what is long, taken from all over it: for content that is compared anyway where hashes are
// equal, and seldom differs in little.
uint64_t sampled_hash(std::span<const std::byte> bytes);

// 128 bits, at the speed of memory: so many that different content with equal hashes is not met by chance.
using WideHash = std::array<uint64_t, 2>;
WideHash wide_content_hash(std::span<const std::byte> bytes);

}  // namespace carina
