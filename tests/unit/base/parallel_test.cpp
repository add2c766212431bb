#include "base/parallel/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace carina {
namespace {

TEST(ThreadPool, each_index_runs_once) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const size_t count : {0u, 1u, 2u, 1000u}) {
      std::vector<std::atomic<int>> calls(count);
      pool.parallel_for(count, [&](size_t i) { ++calls[i]; });
      for (const auto& each : calls) EXPECT_EQ(each, 1);
    }
  }
}

TEST(ThreadPool, body_exception_is_rethrown) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const auto body = [](size_t i) {
      if (i == 7) throw std::runtime_error("seven");
    };
    EXPECT_THROW(pool.parallel_for(100, body), std::runtime_error);
    std::atomic<int> calls = 0;
    pool.parallel_for(10, [&](size_t) { ++calls; });  // the pool still works
    EXPECT_EQ(calls, 10);
  }
}

// The threads that run `count` bodies.
std::vector<std::thread::id> runners(size_t count) {
  std::vector<std::thread::id> ids(count);
  parallel_for(count, [&](size_t i) { ids[i] = std::this_thread::get_id(); });
  return ids;
}

TEST(ScopedThreadPool, without_pool_caller_runs_everything) {
  for (const std::thread::id id : runners(100)) EXPECT_EQ(id, std::this_thread::get_id());
}

TEST(ScopedThreadPool, nested_loop_runs_on_its_thread) {
  const ScopedThreadPool scope(4);
  std::atomic<int> strangers = 0;
  parallel_for(50, [&](size_t) {
    for (const std::thread::id id : runners(20)) strangers += id == std::this_thread::get_id() ? 0 : 1;
  });
  EXPECT_EQ(strangers, 0);
}

TEST(ScopedThreadPool, exception_keeps_pool_usable) {
  const ScopedThreadPool scope(2);
  EXPECT_THROW(parallel_for(2, [](size_t) { throw std::runtime_error("both"); }), std::runtime_error);
  std::atomic<int> calls = 0;
  parallel_for(10, [&](size_t) { ++calls; });
  EXPECT_EQ(calls, 10);
}

TEST(ScopedParallelLoop, waiting_thread_takes_work_until_end) {
  const ScopedThreadPool pool(2);
  std::vector<size_t> asked;
  {
    const ScopedParallelLoop scope([&](size_t count, const std::function<void(size_t)>& body) {
      asked.push_back(count);
      for (size_t i = 0; i < count; ++i) body(i);
    });
    for (const std::thread::id id : runners(5)) EXPECT_EQ(id, std::this_thread::get_id());
    parallel_for(3, [](size_t) { parallel_for(7, [](size_t) {}); });  // a loop inside a body is not divided further
  }
  std::atomic<int> calls = 0;
  parallel_for(10, [&](size_t) { ++calls; });
  EXPECT_EQ(calls, 10);
  EXPECT_EQ(asked, (std::vector<size_t>{5, 3}));
}

TEST(ParallelForChunks, chunks_cover_each_element_once) {
  for (const int threads : {1, 3}) {
    const ScopedThreadPool scope(threads);
    for (const size_t size : {0u, 1u, 9u, 10u, 11u, 1003u}) {
      std::vector<std::atomic<int>> seen(size);
      parallel_for_chunks(size, 10, [&](size_t begin, size_t end) {
        EXPECT_LT(begin, end);
        EXPECT_LE(end - begin, 10);
        for (size_t i = begin; i < end; ++i) ++seen[i];
      });
      for (const auto& each : seen) EXPECT_EQ(each, 1);
    }
  }
}

// Threads that start with adjacent chunks would write adjacent memory at the same time.
TEST(ParallelForChunks, adjacent_chunks_start_apart) {
  const ScopedParallelLoop in_order([](size_t count, const std::function<void(size_t)>& body) {
    for (size_t i = 0; i < count; ++i) body(i);
  });
  std::vector<size_t> begun;
  parallel_for_chunks(7, 1, [&](size_t begin, size_t) { begun.push_back(begin); });
  EXPECT_EQ(begun, (std::vector<size_t>{0, 4, 1, 5, 2, 6, 3}));
}

TEST(RunAsync, task_ends_before_pool) {
  std::atomic<int> done = 0;
  {
    const ScopedThreadPool scope(2);
    for (int i = 0; i < 100; ++i) run_async([&] { ++done; });
  }
  EXPECT_EQ(done, 100);
}

TEST(RunAsync, no_free_thread_runs_task_at_once) {
  const auto runs_here = [] {
    std::thread::id ran;
    run_async([&] { ran = std::this_thread::get_id(); });
    return ran == std::this_thread::get_id();
  };
  EXPECT_TRUE(runs_here());
  {
    const ScopedThreadPool one(1);
    EXPECT_TRUE(runs_here());
  }
  const ScopedThreadPool scope(2);
  std::atomic<int> elsewhere = 0;
  parallel_for(10, [&](size_t) { elsewhere += runs_here() ? 0 : 1; });
  EXPECT_EQ(elsewhere, 0);
}

TEST(ScopedThreadPool, nested_task_uses_same_pool) {
  std::thread::id ran;
  {
    const ScopedThreadPool pool(2);
    run_async([&] { ran = std::this_thread::get_id(); });
  }
  // With one thread, the job below would wait for work that the same thread does next.
  if (ran == std::this_thread::get_id()) GTEST_SKIP() << "the process has one processor, so its pools have one thread";
  std::promise<void> part_has_ended;
  bool seen = false;
  {
    const ScopedThreadPool whole(2);
    {
      const ScopedThreadPool part(2);
      run_async(
          [&] { seen = part_has_ended.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready; });
    }
    part_has_ended.set_value();
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace carina
