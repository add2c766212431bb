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
  // of their numbers, so that large pieces of work are best given first. An exception of a body is thrown here; some of
  // the other calls may then not have been made.
  void parallel_for(size_t count, const std::function<void(size_t)>& body);
  // Calls `job`, which throws nothing, on a thread that has nothing else to do; before the pool ends at the latest, and at
  // once in a pool of one.
  void run_beside(std::function<void()> job);

 private:
  struct Arena;
  int threads_;
  std::unique_ptr<Arena> arena_;
};

// Lends threads to in_parallel() of this thread for as long as it lives. `loop` is called as ThreadPool::parallel_for()
// is, and keeps its promises.
class LentLoop {
 public:
  using Loop = std::function<void(size_t count, const std::function<void(size_t)>& body)>;
  explicit LentLoop(Loop loop);
  ~LentLoop();
  LentLoop(const LentLoop&) = delete;
  LentLoop& operator=(const LentLoop&) = delete;

 private:
  Loop loop_;
  const Loop* loop_before_;
  ThreadPool* pool_before_;
};

// Lends a pool to in_parallel() of this thread for as long as it lives: one pool for a whole task, which those that have
// work to divide find without being handed it. A task within one that has as many threads goes on with its pool.
class LentPool {
 public:
  // `threads` as of ThreadPool.
  explicit LentPool(int threads);
  ~LentPool();
  LentPool(const LentPool&) = delete;
  LentPool& operator=(const LentPool&) = delete;

 private:
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<LentLoop> lent_;
};

// ThreadPool::parallel_for() of the pool that is lent to this thread; one after the other where none is, and within a
// body.
void in_parallel(size_t count, const std::function<void(size_t)>& body);

// ThreadPool::run_beside() of the pool that is lent to this thread; at once where none is, and within a body. For what
// nobody waits for, such as giving much memory back.
void run_beside(std::function<void()> job);

// Calls body(begin, end) for parts of [0, size), each of `part` elements but for the last.
void in_parallel_parts(size_t size, size_t part, const std::function<void(size_t begin, size_t end)>& body);

}  // namespace carina
