#include "runtime/checksum.h"

#include <array>

namespace carina::runtime {

namespace {

// The remainders of the 16 values of half a byte.
constexpr auto kRemainders = [] {
  constexpr uint32_t kPolynomial = 0xEDB88320;  // reflected
  std::array<uint32_t, 16> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    table[i] = i;
    for (int bit = 0; bit < 4; ++bit) table[i] = table[i] >> 1 ^ ((table[i] & 1) != 0 ? kPolynomial : 0);
  }
  return table;
}();

}  // namespace

uint32_t crc32(std::span<const std::byte> bytes, uint32_t before) {
  uint32_t remainder = ~before;
  for (const std::byte byte : bytes) {
    remainder ^= std::to_integer<uint32_t>(byte);
    for (int half = 0; half < 2; ++half) remainder = remainder >> 4 ^ kRemainders[remainder & 0xF];
  }
  return ~remainder;
}

}  // namespace carina::runtime
