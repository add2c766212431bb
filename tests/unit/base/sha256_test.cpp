#include "base/hash/sha256.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash/sha256_internal.h"

namespace carina {
namespace {

std::string hex_of(std::string_view text) {
  return sha256_hex(std::array{std::as_bytes(std::span(text))});
}

// The examples of FIPS 180-4, and NIST's example of a million letters.
TEST(Sha256, digests_equal_published_ones) {
  EXPECT_EQ(hex_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex_of(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, chunking_does_not_change_digest) {
  std::vector<std::byte> bytes(300);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  const std::span<const std::byte> all(bytes);
  const Sha256Digest whole = sha256(std::array{all});
  for (size_t cut = 0; cut <= all.size(); ++cut)
    EXPECT_EQ(sha256(std::array{all.first(cut), all.subspan(cut)}), whole) << cut;
}

TEST(Sha256, hardware_equals_portable_code) {
  std::array<std::byte, 3 * sha256_rounds::kBlockBytes> blocks{};
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::byte>(i * 31);
  sha256_rounds::State portable{1, 2, 3, 4, 5, 6, 7, 8};
  sha256_rounds::State hardware = portable;
  sha256_rounds::compress_portably(portable, blocks);
  if (sha256_rounds::compress_in_hardware(hardware, blocks)) {
    EXPECT_EQ(hardware, portable);
  }
}

}  // namespace
}  // namespace carina
