#include "base/hash/content_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace carina {
namespace {

// Any difference changes the hash: one bit, the length, or the order of words.
TEST(WideContentHash, different_contents_have_different_hashes) {
  std::mt19937 random(1);
  std::set<WideHash> seen;
  size_t count = 0;
  const auto add = [&](const std::vector<std::byte>& bytes) {
    seen.insert(wide_content_hash(bytes));
    ++count;
  };
  for (const size_t size : {1u, 7u, 8u, 31u, 32u, 33u, 64u, 100u, 1000u}) {
    std::vector<std::byte> bytes(size);
    add(bytes);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() | 1);
    add(bytes);
    for (size_t bit = 0; bit < 8 * size; bit += 3) {
      bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      add(bytes);
      bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    }
    for (size_t at = 8; at + 8 <= size; at += 8) {
      std::swap_ranges(bytes.begin(), bytes.begin() + 8, bytes.begin() + static_cast<ptrdiff_t>(at));
      add(bytes);
      std::swap_ranges(bytes.begin(), bytes.begin() + 8, bytes.begin() + static_cast<ptrdiff_t>(at));
    }
  }
  EXPECT_EQ(seen.size(), count);
}

// The hash samples long content at its start, at its end and every few kilobytes. A difference there changes it.
TEST(SampledHash, sampled_difference_changes_hash) {
  std::set<uint64_t> seen;
  for (const size_t size : {0u, 1u, 4096u, 4097u, 100'000u}) {
    std::vector<std::byte> bytes(size);
    seen.insert(sampled_hash(bytes));
    EXPECT_EQ(sampled_hash(bytes), sampled_hash(std::vector<std::byte>(size)));
  }
  std::vector<std::byte> bytes(100'000);
  for (const size_t at : {0u, 63u, 4096u, 20 * 4096u + 5, 99'999u}) {
    bytes[at] = std::byte{1};
    seen.insert(sampled_hash(bytes));
  }
  EXPECT_EQ(seen.size(), 10);
}

}  // namespace
}  // namespace carina
