// Non-cryptographic hashes of byte strings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace carina {

// A 64-bit hash, the same on every machine. Callers must compare contents of equal hashes. Not cryptographic.
uint64_t content_hash(std::span<const std::byte> bytes, uint64_t seed = 0);

// Like content_hash(), but of long contents it reads only 1/64, spread over all of it. Use it where contents of equal
// hashes are compared and contents rarely differ in only a few bytes.
uint64_t sampled_hash(std::span<const std::byte> bytes);

// A 128-bit hash, computed at memory speed. Collisions are negligible.
using WideHash = std::array<uint64_t, 2>;
WideHash wide_content_hash(std::span<const std::byte> bytes);

}  // namespace carina
