#include "base/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace carina {

namespace {

constexpr size_t kBlockBytes = 64;
constexpr size_t kRounds = 64;

constexpr std::array<uint32_t, kRounds> kRoundConstants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

class Sha256 {
 public:
  void update(std::span<const std::byte> bytes) {
    total_bytes_ += bytes.size();
    while (!bytes.empty()) {
      const size_t count = std::min(bytes.size(), kBlockBytes - filled_);
      std::memcpy(block_.data() + filled_, bytes.data(), count);
      filled_ += count;
      bytes = bytes.subspan(count);
      if (filled_ == kBlockBytes) compress();
    }
  }

  std::string finish() {
    const uint64_t bits = total_bytes_ * 8;
    std::array<std::byte, kBlockBytes + 8> tail{std::byte{0x80}};
    const size_t zeros = (filled_ < kBlockBytes - 8 ? kBlockBytes : 2 * kBlockBytes) - 8 - filled_;
    update(std::span(tail).first(zeros));
    std::array<std::byte, 8> length;
    for (size_t i = 0; i < length.size(); ++i) length[i] = static_cast<std::byte>(bits >> (56 - 8 * i));
    update(length);
    std::string text;
    for (const uint32_t word : state_) text += fmt::format("{:08x}", word);
    return text;
  }

 private:
  void compress() {
    std::array<uint32_t, kRounds> w;
    for (size_t i = 0; i < 16; ++i) {
      w[i] = 0;
      for (size_t b = 0; b < 4; ++b) w[i] = w[i] << 8 | static_cast<uint32_t>(block_[4 * i + b]);
    }
    for (size_t i = 16; i < kRounds; ++i) {
      const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
      const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (size_t i = 0; i < kRounds; ++i) {
      const uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) +
                          kRoundConstants[i] + w[i];
      const uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + t1;
      d = c;
      c = b;
      b = a;
      a = t1 + t2;
    }
    const std::array<uint32_t, 8> next{a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < state_.size(); ++i) state_[i] += next[i];
    filled_ = 0;
  }

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlockBytes> block_{};
  size_t filled_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace

std::string sha256_hex(std::span<const std::span<const std::byte>> parts) {
  Sha256 hash;
  for (const auto part : parts) hash.update(part);
  return hash.finish();
}

}  // namespace carina
