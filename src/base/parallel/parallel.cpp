#include "base/parallel/parallel.h"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <utility>

#include "carina/check.h"

namespace carina {

namespace {

thread_local const ScopedParallelLoop::Loop* current_loop = nullptr;
thread_local ThreadPool* current_pool = nullptr;

// Disables the pool inside of a loop body. A nested loop runs on its own thread, because the other threads are busy.
class SuspendedPool {
 public:
  SuspendedPool() = default;
  ~SuspendedPool() {
    current_loop = loop_before_;
    current_pool = pool_before_;
  }
  SuspendedPool(const SuspendedPool&) = delete;
  SuspendedPool& operator=(const SuspendedPool&) = delete;

 private:
  const ScopedParallelLoop::Loop* loop_before_ = std::exchange(current_loop, nullptr);
  ThreadPool* pool_before_ = std::exchange(current_pool, nullptr);
};

// ThreadSanitizer does not see the synchronization in TBB's library. It is told that what comes before hand_over()
// comes before what follows take_over() in another thread.
#ifdef CARINA_SANITIZED
std::atomic<int> handed_over;
void hand_over() {
  ++handed_over;
}
void take_over() {
  (void)handed_over.load();
}
#else
void hand_over() {}
void take_over() {}
#endif

}  // namespace

struct ThreadPool::Arena {
  explicit Arena(int threads) : arena(threads) {}
  ~Arena() {
    for (int left = *jobs; left > 0; left = *jobs) jobs->wait(left);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  oneapi::tbb::task_arena arena;
  // The number of unfinished jobs. It is shared, because the last job may read it after the pool is destroyed.
  std::shared_ptr<std::atomic<int>> jobs = std::make_shared<std::atomic<int>>(0);
};

ThreadPool::ThreadPool(int threads) : threads_(threads) {
  CARINA_CHECK(threads >= 1, "a pool needs a thread, got {}", threads);
  // With more threads than the library supports, it would print a warning to stderr.
  threads = std::min(threads, oneapi::tbb::info::default_concurrency());
  if (threads > 1) arena_ = std::make_unique<Arena>(threads);
}

ThreadPool::~ThreadPool() = default;

// Each thread takes the next index. TBB's ranges split into halves instead, and one half may contain all long
// iterations. No exception passes through TBB, which may be built with another standard library than this program.
// After the first one, no thread takes another index.
void ThreadPool::parallel_for(size_t count, const std::function<void(size_t)>& body) {
  if (arena_ == nullptr || count < 2) {
    for (size_t i = 0; i < count; ++i) body(i);
    return;
  }
  const SuspendedPool suspended;
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr first_exception;
  const auto take = [&](size_t) {
    take_over();
    try {
      for (size_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      next = count;
      if (!failed.exchange(true)) first_exception = std::current_exception();
    }
    hand_over();
  };
  const size_t takers = std::min(count, static_cast<size_t>(arena_->arena.max_concurrency()));
  hand_over();
  arena_->arena.execute([&] { oneapi::tbb::parallel_for(size_t{0}, takers, take, oneapi::tbb::simple_partitioner()); });
  take_over();
  if (first_exception != nullptr) std::rethrow_exception(first_exception);
}

void ThreadPool::run_async(std::function<void()> job) {
  if (arena_ == nullptr) return job();
  struct Queued {
    std::function<void()> job;
    std::shared_ptr<std::atomic<int>> jobs;
  };
  ++*arena_->jobs;
  try {
    auto queued = std::make_unique<Queued>(job, arena_->jobs);
    hand_over();
    arena_->arena.enqueue([pointer = queued.get()] {
      take_over();
      const std::unique_ptr<Queued> own(pointer);
      own->job();
      own->job = nullptr;
      --*own->jobs;
      own->jobs->notify_one();
    });
    (void)queued.release();          // the job owns it
  } catch (const std::bad_alloc&) {  // bad_alloc: the job itself may free memory
    --*arena_->jobs;
    job();
  }
}

ScopedParallelLoop::ScopedParallelLoop(Loop loop)
    : loop_(std::move(loop)),
      loop_before_(std::exchange(current_loop, &loop_)),
      pool_before_(std::exchange(current_pool, nullptr)) {}

ScopedParallelLoop::~ScopedParallelLoop() {
  current_loop = loop_before_;
  current_pool = pool_before_;
}

ScopedThreadPool::ScopedThreadPool(int threads) {
  if (current_pool != nullptr && current_pool->threads() == threads) return;
  pool_ = std::make_unique<ThreadPool>(threads);
  scope_ = std::make_unique<ScopedParallelLoop>(
      [pool = pool_.get()](size_t count, const std::function<void(size_t)>& body) { pool->parallel_for(count, body); });
  current_pool = pool_.get();
}

ScopedThreadPool::~ScopedThreadPool() = default;

void parallel_for(size_t count, const std::function<void(size_t)>& body) {
  if (current_loop == nullptr || count < 2) {
    for (size_t i = 0; i < count; ++i) body(i);
    return;
  }
  const ScopedParallelLoop::Loop& loop = *current_loop;
  const SuspendedPool suspended;
  loop(count, body);
}

void run_async(std::function<void()> job) {
  if (current_pool == nullptr) return job();
  current_pool->run_async(std::move(job));
}

// Adjacent chunks start at different times. Each 2 MiB of new memory has one lock in the kernel (that of a page table),
// and threads that map pages in one such range wait for each other.
void parallel_for_chunks(size_t size, size_t part, const std::function<void(size_t begin, size_t end)>& body) {
  const size_t parts = (size + part - 1) / part;
  const size_t half = (parts + 1) / 2;
  parallel_for(parts, [&](size_t i) {
    const size_t p = i % 2 == 0 ? i / 2 : half + i / 2;
    body(p * part, std::min(size, (p + 1) * part));
  });
}

}  // namespace carina
