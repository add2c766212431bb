// Declares the thread pool and the parallel loops that use the pool of the current thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace carina {

// A fixed number of worker threads. Results must not depend on how work is divided, so callers divide it only by index.
class ThreadPool {
 public:
  // `threads` >= 1, the calling thread included; 1 runs everything in the caller.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const { return threads_; }
  // Calls body(i) for each i in [0, count), possibly concurrently, and returns when all calls are done. Calls start in
  // ascending order of i, so give large chunks of work the low indices. An exception of a body is rethrown here; some
  // of the other calls may then not have been made.
  void parallel_for(size_t count, const std::function<void(size_t)>& body);
  // Calls `job`, which must not throw, on an idle thread, at the latest before the pool is destroyed. A pool of one
  // thread calls it at once.
  void run_async(std::function<void()> job);

 private:
  struct Arena;
  int threads_;
  std::unique_ptr<Arena> arena_;
};

// While the object exists, parallel_for() of this thread calls `loop`. `loop` must accept the arguments of
// ThreadPool::parallel_for() and give the same guarantees.
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
// needs no pool argument. A nested scope with the same number of threads uses the outer pool.
class ScopedThreadPool {
 public:
  // `threads` has the meaning of ThreadPool's parameter.
  explicit ScopedThreadPool(int threads);
  ~ScopedThreadPool();
  ScopedThreadPool(const ScopedThreadPool&) = delete;
  ScopedThreadPool& operator=(const ScopedThreadPool&) = delete;

 private:
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<ScopedParallelLoop> scope_;
};

// Calls ThreadPool::parallel_for() of this thread's current pool. Without a pool, and inside a body, the calls are made
// one after another.
void parallel_for(size_t count, const std::function<void(size_t)>& body);

// Calls ThreadPool::run_async() of this thread's current pool. Without a pool, and inside a body, it calls the job at
// once. Use it for work whose end is not awaited, such as freeing large memory.
void run_async(std::function<void()> job);

// Calls body(begin, end) for consecutive parts of [0, size). Each part has `part` elements; the last may have fewer.
void parallel_for_chunks(size_t size, size_t part, const std::function<void(size_t begin, size_t end)>& body);

}  // namespace carina
