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

std::vector<Interval> with_rises(std::vector<Interval> intervals, std::mt19937& random) {
  for (Interval& b : intervals) {
    int64_t from = 0, first = b.first;
    while (random() % 2 == 0 && from + 16 < b.bytes && first < b.last) {
      from += 16 * (1 + static_cast<int64_t>(random() % 40));
      first += 1 + static_cast<int64_t>(random() % 3);
      if (from < b.bytes && first <= b.last) b.rises.push_back({.from_byte = from, .first = first});
    }
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

// What is filled bit by bit, as intervals of its own.
std::vector<std::pair<int64_t, Interval>> parts_of(const Interval& b) {
  std::vector<std::pair<int64_t, Interval>> parts;
  for (size_t i = 0; i <= b.rises.size(); ++i) {
    const int64_t from = i == 0 ? 0 : b.rises[i - 1].from_byte;
    const int64_t end = i < b.rises.size() ? b.rises[i].from_byte : b.bytes;
    const int64_t first = i == 0 ? b.first : b.rises[i - 1].first;
    parts.emplace_back(from, Interval{.bytes = end - from, .first = first, .last = b.last});
  }
  return parts;
}

TEST(Place, LetsOthersStandWhereAnIntervalIsNotFilledYet) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    const auto intervals = with_rises(random_intervals(random), random);
    const Placement p = place(intervals, 16, Placing::kSearch);
    std::vector<Interval> parts;
    Placement of_parts{.total_bytes = p.total_bytes};
    for (size_t i = 0; i < intervals.size(); ++i) {
      for (const auto& [from, part] : parts_of(intervals[i])) {
        parts.push_back(part);
        of_parts.offsets.push_back(p.offsets[i] + from);
      }
    }
    expect_sound(parts, of_parts, 16);
    EXPECT_EQ(peak_live_bytes(intervals, 16), peak_live_bytes(parts, 16));
  }
  const std::vector<Interval> two{{.bytes = 64, .first = 0, .last = 9, .rises = {{.from_byte = 16, .first = 5}}},
                                  {.bytes = 48, .first = 0, .last = 4}};
  EXPECT_EQ(place(two, 16, Placing::kSearch).total_bytes, 64);
}

TEST(Place, EndsOnceItTakesFewEnoughBytes) {
  std::mt19937 random(6);
  for (int round = 0; round < 20; ++round) {
    const auto intervals = random_intervals(random);
    const int64_t first = place(intervals, 16, Placing::kSearch, {.max_work = 0}).total_bytes;
    EXPECT_EQ(place(intervals, 16, Placing::kSearch, {.enough_bytes = first}).total_bytes, first);
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
