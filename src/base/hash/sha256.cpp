#include "base/hash/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/hash/sha256_internal.h"

namespace carina {

namespace {

using sha256_rounds::kBlockBytes;
using sha256_rounds::kConstants;
using sha256_rounds::kRounds;
using sha256_rounds::State;

void compress_block(State& state, std::span<const std::byte, kBlockBytes> block) {
  std::array<uint32_t, kRounds> w;
  for (size_t i = 0; i < 16; ++i) {
    w[i] = 0;
    for (size_t b = 0; b < 4; ++b) w[i] = w[i] << 8 | static_cast<uint32_t>(block[4 * i + b]);
  }
  for (size_t i = 16; i < kRounds; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < kRounds; ++i) {
    const uint32_t t1 =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kConstants[i] + w[i];
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
  const State next{a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) state[i] += next[i];
}

class Sha256 {
 public:
  void update(std::span<const std::byte> bytes) {
    total_bytes_ += bytes.size();
    if (filled_ > 0) bytes = bytes.subspan(fill(bytes));
    const size_t whole = bytes.size() / kBlockBytes * kBlockBytes;
    compress(bytes.first(whole));
    fill(bytes.subspan(whole));
  }

  Sha256Digest finish() {
    const uint64_t bits = total_bytes_ * 8;
    std::array<std::byte, kBlockBytes + 8> tail{std::byte{0x80}};
    const size_t zeros = (filled_ < kBlockBytes - 8 ? kBlockBytes : 2 * kBlockBytes) - 8 - filled_;
    update(std::span(tail).first(zeros));
    std::array<std::byte, 8> length;
    for (size_t i = 0; i < length.size(); ++i) length[i] = static_cast<std::byte>(bits >> (56 - 8 * i));
    update(length);
    Sha256Digest digest;
    for (size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<std::byte>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
  }

 private:
  // Copies as many bytes as fit into the current block. Returns their number.
  size_t fill(std::span<const std::byte> bytes) {
    const size_t count = std::min(bytes.size(), kBlockBytes - filled_);
    std::copy_n(bytes.data(), count, block_.data() + filled_);
    filled_ += count;
    if (filled_ < kBlockBytes) return count;
    compress(block_);
    filled_ = 0;
    return count;
  }
  void compress(std::span<const std::byte> blocks) {
    if (sha256_rounds::compress_in_hardware(state_, blocks)) return;
    sha256_rounds::compress_portably(state_, blocks);
  }

  State state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlockBytes> block_{};
  size_t filled_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace

void sha256_rounds::compress_portably(State& state, std::span<const std::byte> blocks) {
  for (; !blocks.empty(); blocks = blocks.subspan(kBlockBytes)) compress_block(state, blocks.first<kBlockBytes>());
}

Sha256Digest sha256(std::span<const std::span<const std::byte>> parts) {
  Sha256 hash;
  for (const auto part : parts) hash.update(part);
  return hash.finish();
}

std::string sha256_hex(std::span<const std::span<const std::byte>> parts) {
  std::string text;
  for (const std::byte byte : sha256(parts)) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

}  // namespace carina
