#include "base/crc32.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace carina {
namespace {

uint32_t by_zlib(std::span<const std::byte> bytes, uint32_t before) {
  return static_cast<uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

TEST(Crc32, IsThatOfZlib) {
  std::mt19937 random(1);
  std::vector<std::byte> bytes(5000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (size_t size = 0; size < 300; ++size)
    EXPECT_EQ(crc32_of(std::span(bytes).subspan(size % 7, size), 0),
              by_zlib(std::span(bytes).subspan(size % 7, size), 0))
        << size;
  const uint32_t before = crc32_of(std::span(bytes).first(1234));
  EXPECT_EQ(crc32_of(std::span(bytes).subspan(1234), before), by_zlib(bytes, 0));
}

// APPNOTE.TXT names no test; this is the check value of the polynomial in the catalogues of CRCs.
TEST(Crc32, OfNineDigits) {
  const std::string_view digits = "123456789";
  EXPECT_EQ(crc32_of(std::as_bytes(std::span(digits))), 0xCBF43926U);
}

}  // namespace
}  // namespace carina
