#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/checked_math.h"

// BitWriter: the output of the standard weight encoder.
namespace carina::npu::swd {

// Appends bits, the first one in the lowest position.
class BitWriter {
 public:
  static constexpr int kMaxBits = 56;  // of one call

  explicit BitWriter(size_t expected_bytes) : bytes_(expected_bytes + sizeof(uint64_t)) {}
  // Reserves this many more bytes. put() does not check the capacity.
  void reserve(size_t more) {
    const size_t needed = at_ + more + sizeof window_;
    if (needed > bytes_.size()) bytes_.resize(std::max(needed, bytes_.size() + bytes_.size() / 4));
  }
  void put(uint64_t value, int bits) {
    window_ |= value << filled_;
    std::memcpy(bytes_.data() + at_, &window_, sizeof window_);
    filled_ += static_cast<unsigned>(bits);
    at_ += filled_ / 8;
    window_ >>= filled_ / 8 * 8;
    filled_ %= 8;
  }
  // Returns the bytes, padded with ones to a multiple of 16.
  std::vector<std::byte> finish() && {
    reserve(1);
    if (filled_ > 0) put(0xFFu >> filled_, static_cast<int>(8 - filled_));
    bytes_.resize(at_);
    bytes_.resize(round_up<size_t>(at_, 16), std::byte{0xFF});
    return std::move(bytes_);
  }

 private:
  static_assert(std::endian::native == std::endian::little);
  std::vector<std::byte> bytes_;
  size_t at_ = 0;
  uint64_t window_ = 0;  // bits that do not fill a byte yet
  unsigned filled_ = 0;
};

}  // namespace carina::npu::swd
