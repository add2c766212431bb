#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace carina {

// A set of worker threads of fixed size. Results must not depend on how work is divided: callers split by index only.
class ThreadPool {
 public:
  // `threads` >= 1, the calling thread included; 1 runs everything in the caller.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const { return threads_; }
  // Calls body(i) for each i in [0, count), possibly at the same time; returns when all are done. They begin in the order
  // of their numbers, so that large chunks of work are best given first. An exception of a body is thrown here; some of
  // the other calls may then not have been made.
  void parallel_for(size_t count, const std::function<void(size_t)>& body);
  // Calls `job`, which throws nothing, on a thread that has nothing else to do; before the pool ends at the latest, and at
  // once in a pool of one.
  void run_async(std::function<void()> job);

 private:
  struct Arena;
  int threads_;
  std::unique_ptr<Arena> arena_;
};

// While it exists, parallel_for() of this thread calls `loop`. `loop` is called as ThreadPool::parallel_for()
// is, and keeps its promises.
class ScopedParallelLoop {
 public:
  using Loop = std::function<void(size_t count, const std::function<void(size_t)>& body)>;
  explicit ScopedParallelLoop(Loop loop);
  ~ScopedParallelLoop();
  ScopedParallelLoop(const ScopedParallelLoop&) = delete;
  ScopedParallelLoop& operator=(const ScopedParallelLoop&) = delete;

 private:
  Loop loop_;
  const Loop* loop_before_;
  ThreadPool* pool_before_;
};

// A thread pool that parallel_for() and run_async() of this thread use while the object exists. Code that divides work
// finds the pool without getting it as an argument. A nested scope of as many threads uses the outer pool.
class ScopedThreadPool {
 public:
  // `threads` as of ThreadPool.
  explicit ScopedThreadPool(int threads);
  ~ScopedThreadPool();
  ScopedThreadPool(const ScopedThreadPool&) = delete;
  ScopedThreadPool& operator=(const ScopedThreadPool&) = delete;

 private:
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<ScopedParallelLoop> scope_;
};

// ThreadPool::parallel_for() of the current pool of this thread; one call after the other where there is no pool, and
// within a body.
void parallel_for(size_t count, const std::function<void(size_t)>& body);

// ThreadPool::run_async() of the current pool of this thread; at once where there is no pool, and within a body. For
// work whose end is not awaited, such as freeing large memory.
void run_async(std::function<void()> job);

// Calls body(begin, end) for parts of [0, size), each of `part` elements but for the last.
void parallel_for_chunks(size_t size, size_t part, const std::function<void(size_t begin, size_t end)>& body);

}  // namespace carina
