#include "kernels/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <vector>

#include "carina/check.h"

namespace carina::kernels {

namespace {

// Each chunk runs once, and no slot runs two chunks at the same time.
void expect_each_chunk_once(Workers& workers, int64_t count) {
  std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
  std::vector<std::atomic<bool>> busy(static_cast<size_t>(workers.threads()));
  workers.for_each(count, [&](int64_t slot, int64_t chunk) {
    ASSERT_FALSE(busy[static_cast<size_t>(slot)].exchange(true));
    ++runs[static_cast<size_t>(chunk)];
    busy[static_cast<size_t>(slot)].store(false);
  });
  for (int64_t chunk = 0; chunk < count; ++chunk) ASSERT_EQ(runs[static_cast<size_t>(chunk)], 1) << chunk;
}

TEST(Workers, each_chunk_of_each_job_runs_once) {
  for (const int threads : {1, 2, 3, 8}) {
    Workers workers(threads);
    for (int64_t job = 0; job < 2000; ++job) expect_each_chunk_once(workers, job % 40);
    expect_each_chunk_once(workers, Workers::kMaxChunks);
  }
}

TEST(Workers, sleeping_workers_wake_up) {
  Workers workers(2);
  for (int round = 0; round < 20; ++round) {
    expect_each_chunk_once(workers, 8);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// An internal error on any thread must not end the caller's process.
TEST(Workers, exception_reaches_caller) {
  for (const int threads : {1, 2, 4}) {
    Workers workers(threads);
    for (int64_t bad = 0; bad < 40; ++bad) {
      const auto throw_at_bad = [&](int64_t, int64_t chunk) {
        CARINA_CHECK(chunk != bad, "piece {} of a test", chunk);
      };
      EXPECT_THROW(workers.for_each(40, throw_at_bad), InternalError) << threads << " threads, piece " << bad;
      expect_each_chunk_once(workers, 40);
    }
  }
}

TEST(Workers, unused_workers_stop) {
  const Workers workers(4);
}

TEST(SplitSlots, large_enough_ranges_cover_everything) {
  for (const int threads : {1, 2, 5}) {
    Workers workers(threads);
    for (const int64_t count : {0, 1, 7, 8, 9, 100, 1001}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
      constexpr int64_t kGrain = 7;
      split_slots(workers, count, kGrain, [&](int64_t slot, int64_t begin, int64_t end) {
        ASSERT_LT(slot, threads);
        ASSERT_TRUE(end - begin >= kGrain || end - begin == count);
        for (int64_t i = begin; i < end; ++i) ++runs[static_cast<size_t>(i)];
      });
      for (const auto& times : runs) ASSERT_EQ(times, 1);
    }
  }
}

}  // namespace

}  // namespace carina::kernels
