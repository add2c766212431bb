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
  // Calls body(i) for each i in [0, count), in any order and possibly at the same time; returns when all are done. An
  // exception of a body is thrown here; some of the other calls may then not have been made.
  void parallel_for(size_t count, const std::function<void(size_t)>& body);

 private:
  struct Arena;
  int threads_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace carina
