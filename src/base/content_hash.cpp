#include "base/content_hash.h"

#include <cstring>

namespace carina {

namespace {

constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio

__extension__ typedef unsigned __int128 Wide;

uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<Wide>(a ^ kMultiplier) * (b ^ 0xD1B54A32D192ED03);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

uint64_t content_hash(std::span<const std::byte> bytes, uint64_t seed) {
  uint64_t hash = mix(seed, bytes.size());
  while (bytes.size() >= 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    hash = mix(hash, word);
    bytes = bytes.subspan(8);
  }
  uint64_t tail = 0;
  if (!bytes.empty()) std::memcpy(&tail, bytes.data(), bytes.size());
  return mix(hash, tail);
}

}  // namespace carina
