#include "base/memory/memory_planner.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace carina {
namespace {

std::vector<MemoryRequest> random_requests(std::mt19937& random) {
  std::vector<MemoryRequest> requests(1 + random() % 60);
  for (MemoryRequest& b : requests) {
    b.bytes = static_cast<int64_t>(random() % (random() % 5 == 0 ? 100000 : 3000));
    b.first = static_cast<int64_t>(random() % 50);
    b.last = b.first + static_cast<int64_t>(random() % 12);
  }
  return requests;
}

std::vector<MemoryRequest> with_fill_steps(std::vector<MemoryRequest> requests, std::mt19937& random) {
  for (MemoryRequest& b : requests) {
    int64_t from = 0, first = b.first;
    while (random() % 2 == 0 && from + 16 < b.bytes && first < b.last) {
      from += 16 * (1 + static_cast<int64_t>(random() % 40));
      first += 1 + static_cast<int64_t>(random() % 3);
      if (from < b.bytes && first <= b.last) b.fill_steps.push_back({.from_byte = from, .first = first});
    }
  }
  return requests;
}

bool live_together(const MemoryRequest& a, const MemoryRequest& b) {
  return a.first <= b.last && b.first <= a.last;
}

bool overlap(int64_t a, int64_t a_bytes, int64_t b, int64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

void expect_sound(const std::vector<MemoryRequest>& requests, const MemoryPlan& p, int64_t alignment) {
  EXPECT_GE(p.total_bytes, peak_live_bytes(requests, alignment));
  EXPECT_EQ(p.total_bytes % alignment, 0);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(p.offsets[i] % alignment, 0);
    EXPECT_GE(p.offsets[i], 0);
    EXPECT_LE(p.offsets[i] + requests[i].bytes, p.total_bytes);
    for (size_t j = 0; j < i; ++j) {
      if (!live_together(requests[i], requests[j])) continue;
      EXPECT_FALSE(overlap(p.offsets[i], requests[i].bytes, p.offsets[j], requests[j].bytes)) << i << " " << j;
    }
  }
}

TEST(MemoryPlanner, overlapping_live_ranges_get_disjoint_memory) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto requests = random_requests(random);
    for (const int64_t alignment : {16, 64}) {
      expect_sound(requests, plan_memory(requests, alignment, PlanStrategy::kFirstFit), alignment);
      expect_sound(requests, plan_memory(requests, alignment, PlanStrategy::kSearch), alignment);
    }
  }
}

// The parts of a buffer that is filled step by step, each with its own live range.
std::vector<std::pair<int64_t, MemoryRequest>> parts_of(const MemoryRequest& b) {
  std::vector<std::pair<int64_t, MemoryRequest>> parts;
  for (size_t i = 0; i <= b.fill_steps.size(); ++i) {
    const int64_t from = i == 0 ? 0 : b.fill_steps[i - 1].from_byte;
    const int64_t end = i < b.fill_steps.size() ? b.fill_steps[i].from_byte : b.bytes;
    const int64_t first = i == 0 ? b.first : b.fill_steps[i - 1].first;
    parts.emplace_back(from, MemoryRequest{.bytes = end - from, .first = first, .last = b.last});
  }
  return parts;
}

TEST(MemoryPlanner, unused_parts_of_intervals_are_shared) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    const auto requests = with_fill_steps(random_requests(random), random);
    const MemoryPlan p = plan_memory(requests, 16, PlanStrategy::kSearch);
    std::vector<MemoryRequest> parts;
    MemoryPlan of_parts{.total_bytes = p.total_bytes};
    for (size_t i = 0; i < requests.size(); ++i) {
      for (const auto& [from, part] : parts_of(requests[i])) {
        parts.push_back(part);
        of_parts.offsets.push_back(p.offsets[i] + from);
      }
    }
    expect_sound(parts, of_parts, 16);
    EXPECT_EQ(peak_live_bytes(requests, 16), peak_live_bytes(parts, 16));
  }
  const std::vector<MemoryRequest> two{
      {.bytes = 64, .first = 0, .last = 9, .fill_steps = {{.from_byte = 16, .first = 5}}},
      {.bytes = 48, .first = 0, .last = 4}};
  EXPECT_EQ(plan_memory(two, 16, PlanStrategy::kSearch).total_bytes, 64);
}

TEST(MemoryPlanner, search_ends_below_wanted_size) {
  std::mt19937 random(6);
  for (int round = 0; round < 20; ++round) {
    const auto requests = random_requests(random);
    const int64_t first = plan_memory(requests, 16, PlanStrategy::kSearch, {.max_work = 0}).total_bytes;
    EXPECT_EQ(plan_memory(requests, 16, PlanStrategy::kSearch, {.enough_bytes = first}).total_bytes, first);
  }
}

TEST(MemoryPlanner, one_order_gives_the_plan_with_which_a_search_begins) {
  std::mt19937 random(8);
  for (int round = 0; round < 200; ++round) {
    const auto requests = with_fill_steps(random_requests(random), random);
    const MemoryPlan one = plan_memory(requests, 16, PlanStrategy::kSearch, {.max_work = 0});
    const int64_t any_size = std::numeric_limits<int64_t>::max();
    EXPECT_EQ(one.offsets, plan_memory(requests, 16, PlanStrategy::kSearch, {.enough_bytes = any_size}).offsets);
  }
}

TEST(MemoryPlanner, search_is_deterministic_and_tight) {
  std::mt19937 random(4);
  int64_t total = 0, first_fit = 0, bound = 0;
  for (int round = 0; round < 50; ++round) {
    const auto requests = random_requests(random);
    const MemoryPlan a = plan_memory(requests, 16, PlanStrategy::kSearch),
                     b = plan_memory(requests, 16, PlanStrategy::kSearch);
    EXPECT_EQ(a.offsets, b.offsets);
    total += a.total_bytes;
    first_fit += plan_memory(requests, 16, PlanStrategy::kFirstFit).total_bytes;
    bound += peak_live_bytes(requests, 16);
  }
  EXPECT_LE(total, bound * 103 / 100);
  EXPECT_LT(total, first_fit);
}

TEST(MemoryPlanner, first_fit_keeps_order_of_equal_sizes) {
  const std::vector<MemoryRequest> requests{{.bytes = 8, .first = 0, .last = 1}, {.bytes = 8, .first = 0, .last = 9}};
  EXPECT_EQ(plan_memory(requests, 16, PlanStrategy::kFirstFit).offsets, (std::vector<int64_t>{0, 16}));
  EXPECT_EQ(plan_memory(requests, 16, PlanStrategy::kSearch).offsets,
            (std::vector<int64_t>{16, 0}));  // the longer-lived buffer first
}

TEST(MemoryPlanner, no_buffers_take_no_memory) {
  EXPECT_EQ(plan_memory({}, 16, PlanStrategy::kSearch).total_bytes, 0);
}

}  // namespace
}  // namespace carina
