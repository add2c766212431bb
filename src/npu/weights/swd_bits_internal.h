#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

// BitReader: the input of the standard weight decoder.
namespace carina::npu::swd {

inline constexpr int kWindowBits = 56;

// Reads bits from the least significant one of each byte. Reads beyond the end return zeros, and overrun() reports
// them.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // At least the next kWindowBits bits.
  [[nodiscard]] uint64_t peek() const { return peek_after(0); }
  // The same bits after a skip of `bits`.
  [[nodiscard]] uint64_t peek_after(int bits) const {
    const size_t position = position_ + static_cast<size_t>(bits);
    const size_t byte = position >> 3;
    uint64_t window = 0;
    if (byte + 8 <= bytes_.size()) [[likely]] {
      std::memcpy(&window, bytes_.data() + byte, 8);
    } else if (byte < bytes_.size()) {
      std::memcpy(&window, bytes_.data() + byte, bytes_.size() - byte);
    }
    return window >> (position & 7);
  }
  void skip(int bits) { position_ += static_cast<size_t>(bits); }
  uint32_t take(int bits) {
    const auto value = static_cast<uint32_t>(peek() & ((uint64_t{1} << bits) - 1));
    skip(bits);
    return value;
  }
  [[nodiscard]] size_t bytes() const { return bytes_.size(); }
  [[nodiscard]] size_t position() const { return position_; }
  [[nodiscard]] bool overrun() const { return position_ > bytes_.size() * 8; }

 private:
  std::span<const std::byte> bytes_;
  size_t position_ = 0;
};

}  // namespace carina::npu::swd
