#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace carina {

// A 64-bit hash of bytes, the same on every machine; equal content still has to be compared. Not cryptographic.
uint64_t content_hash(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace carina
