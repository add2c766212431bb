#include "base/place.h"

#include <gtest/gtest.h>

#include <random>

namespace carina {
namespace {

std::vector<Interval> random_intervals(std::mt19937& random) {
  std::vector<Interval> intervals(1 + random() % 60);
  for (Interval& b : intervals) {
    b.bytes = static_cast<int64_t>(random() % (random() % 5 == 0 ? 100000 : 3000));
    b.first = static_cast<int64_t>(random() % 50);
    b.last = b.first + static_cast<int64_t>(random() % 12);
  }
  return intervals;
}

bool live_together(const Interval& a, const Interval& b) {
  return a.first <= b.last && b.first <= a.last;
}

bool overlap(int64_t a, int64_t a_bytes, int64_t b, int64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

void expect_sound(const std::vector<Interval>& intervals, const Placement& p, int64_t alignment) {
  EXPECT_GE(p.total_bytes, peak_live_bytes(intervals, alignment));
  EXPECT_EQ(p.total_bytes % alignment, 0);
  for (size_t i = 0; i < intervals.size(); ++i) {
    EXPECT_EQ(p.offsets[i] % alignment, 0);
    EXPECT_GE(p.offsets[i], 0);
    EXPECT_LE(p.offsets[i] + intervals[i].bytes, p.total_bytes);
    for (size_t j = 0; j < i; ++j) {
      if (!live_together(intervals[i], intervals[j])) continue;
      EXPECT_FALSE(overlap(p.offsets[i], intervals[i].bytes, p.offsets[j], intervals[j].bytes)) << i << " " << j;
    }
  }
}

TEST(Place, NeverOverlapsWhatLivesTogether) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto intervals = random_intervals(random);
    for (const int64_t alignment : {16, 64}) {
      expect_sound(intervals, place(intervals, alignment, Placing::kFirstFit), alignment);
      expect_sound(intervals, place(intervals, alignment, Placing::kSearch), alignment);
    }
  }
}

TEST(Place, IsDeterministicAndTheSearchTight) {
  std::mt19937 random(4);
  int64_t total = 0, first_fit = 0, bound = 0;
  for (int round = 0; round < 50; ++round) {
    const auto intervals = random_intervals(random);
    const Placement a = place(intervals, 16, Placing::kSearch), b = place(intervals, 16, Placing::kSearch);
    EXPECT_EQ(a.offsets, b.offsets);
    total += a.total_bytes;
    first_fit += place(intervals, 16, Placing::kFirstFit).total_bytes;
    bound += peak_live_bytes(intervals, 16);
  }
  EXPECT_LE(total, bound * 103 / 100);
  EXPECT_LT(total, first_fit);
}

TEST(Place, FirstFitTakesEqualSizesInTheirOrder) {
  const std::vector<Interval> intervals{{.bytes = 8, .first = 0, .last = 1}, {.bytes = 8, .first = 0, .last = 9}};
  EXPECT_EQ(place(intervals, 16, Placing::kFirstFit).offsets, (std::vector<int64_t>{0, 16}));
  EXPECT_EQ(place(intervals, 16, Placing::kSearch).offsets, (std::vector<int64_t>{16, 0}));  // the longer-lived first
}

TEST(Place, OfNothingTakesNothing) {
  EXPECT_EQ(place({}, 16, Placing::kSearch).total_bytes, 0);
}

}  // namespace
}  // namespace carina
