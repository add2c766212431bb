#include "plan/allocate.h"

#include <gtest/gtest.h>

#include <random>

namespace carina::plan {
namespace {

std::vector<Buffer1D> random_buffers(std::mt19937& random) {
  std::vector<Buffer1D> buffers(1 + random() % 60);
  for (Buffer1D& b : buffers) {
    b.bytes = 1 + static_cast<int64_t>(random() % (random() % 5 == 0 ? 100000 : 3000));
    b.first = static_cast<int64_t>(random() % 50);
    b.last = b.first + static_cast<int64_t>(random() % 12);
  }
  return buffers;
}

bool live_together(const Buffer1D& a, const Buffer1D& b) {
  return a.first <= b.last && b.first <= a.last;
}

TEST(Allocate, NeverOverlapsWhatLivesTogether) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto buffers = random_buffers(random);
    const Allocation a = allocate(buffers, 16);
    EXPECT_GE(a.total_bytes, peak_live_bytes(buffers, 16));
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(a.addresses[i] % 16, 0);
      EXPECT_GE(a.addresses[i], 0);
      EXPECT_LE(a.addresses[i] + buffers[i].bytes, a.total_bytes);
      for (size_t j = 0; j < i; ++j) {
        if (!live_together(buffers[i], buffers[j])) continue;
        EXPECT_TRUE(a.addresses[i] + buffers[i].bytes <= a.addresses[j] ||
                    a.addresses[j] + buffers[j].bytes <= a.addresses[i])
            << round;
      }
    }
  }
}

TEST(Allocate, IsDeterministicAndTight) {
  std::mt19937 random(4);
  int64_t total = 0, bound = 0;
  for (int round = 0; round < 50; ++round) {
    const auto buffers = random_buffers(random);
    const Allocation a = allocate(buffers, 16), b = allocate(buffers, 16);
    EXPECT_EQ(a.addresses, b.addresses);
    total += a.total_bytes;
    bound += peak_live_bytes(buffers, 16);
  }
  EXPECT_LE(total, bound * 103 / 100);
}

TEST(Allocate, OfNothingTakesNothing) {
  EXPECT_EQ(allocate({}, 16).total_bytes, 0);
}

}  // namespace
}  // namespace carina::plan
