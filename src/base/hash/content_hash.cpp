#include "base/hash/content_hash.h"

#include <array>
#include <cstring>

namespace carina {

namespace {

constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio

constexpr size_t kLanes = 4;  // independent chains hide the latency of a multiplication

__extension__ typedef unsigned __int128 Wide;

uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<Wide>(a ^ kMultiplier) * (b ^ 0xD1B54A32D192ED03);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

uint64_t content_hash(std::span<const std::byte> bytes, uint64_t seed) {
  uint64_t hash = mix(seed, bytes.size());
  if (bytes.size() >= kLanes * 8) {
    std::array<uint64_t, kLanes> lanes{};
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = hash + lane;
    for (; bytes.size() >= kLanes * 8; bytes = bytes.subspan(kLanes * 8)) {
      std::array<uint64_t, kLanes> words;
      std::memcpy(words.data(), bytes.data(), sizeof words);
      for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = mix(lanes[lane], words[lane]);
    }
    for (const uint64_t lane : lanes) hash = mix(hash, lane);
  }
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

uint64_t sampled_hash(std::span<const std::byte> bytes) {
  constexpr size_t kSample = 64, kStep = 4096;
  uint64_t hash = bytes.size();
  if (bytes.size() <= kStep) return content_hash(bytes, hash);
  for (size_t at = 0; at + kSample <= bytes.size(); at += kStep) hash = content_hash(bytes.subspan(at, kSample), hash);
  return content_hash(bytes.last(kSample), hash);
}

// Uses four independent chains. Each word goes into two of them, each time combined with a different word.
WideHash wide_content_hash(std::span<const std::byte> bytes) {
  const size_t size = bytes.size();
  std::array<uint64_t, 4> chains{1, 2, 3, 4};
  const auto add = [&](const std::array<uint64_t, 4>& words) {
    chains[0] = mix(chains[0] ^ words[0], words[1]);
    chains[1] = mix(chains[1] ^ words[2], words[3]);
    chains[2] = mix(chains[2] ^ words[0], words[2]);
    chains[3] = mix(chains[3] ^ words[1], words[3]);
  };
  std::array<uint64_t, 4> words{};
  while (bytes.size() >= sizeof words) {
    std::memcpy(words.data(), bytes.data(), sizeof words);
    add(words);
    bytes = bytes.subspan(sizeof words);
  }
  words = {};
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  add(words);
  return {mix(mix(chains[0], chains[1]), size), mix(mix(chains[2], chains[3]), ~size)};
}

}  // namespace carina
