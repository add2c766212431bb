#include "base/parallel.h"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/check.h"

namespace carina {

namespace {

thread_local const LentLoop::Loop* lent = nullptr;

// A body that divides its work again does so alone: the others are busy.
class Unlent {
 public:
  Unlent() = default;
  ~Unlent() { lent = before_; }
  Unlent(const Unlent&) = delete;
  Unlent& operator=(const Unlent&) = delete;

 private:
  const LentLoop::Loop* before_ = std::exchange(lent, nullptr);
};

}  // namespace

struct ThreadPool::Arena {
  explicit Arena(int threads) : arena(threads) {}
  oneapi::tbb::task_arena arena;
};

ThreadPool::ThreadPool(int threads) : threads_(threads) {
  CARINA_CHECK(threads >= 1, "a pool needs a thread, got {}", threads);
  // More workers than the library has would only make it say so on stderr.
  threads = std::min(threads, oneapi::tbb::info::default_concurrency());
  if (threads > 1) arena_ = std::make_unique<Arena>(threads);
}

ThreadPool::~ThreadPool() = default;

// Each thread takes the next number: the library's ranges are halves, of which the second may hold all that is large.
void ThreadPool::parallel_for(size_t count, const std::function<void(size_t)>& body) {
  if (arena_ == nullptr || count < 2) {
    for (size_t i = 0; i < count; ++i) body(i);
    return;
  }
  const Unlent unlent;
  std::atomic<size_t> next = 0;
  const auto take = [&](size_t) {
    for (size_t i = next++; i < count; i = next++) body(i);
  };
  const size_t takers = std::min(count, static_cast<size_t>(arena_->arena.max_concurrency()));
  arena_->arena.execute([&] { oneapi::tbb::parallel_for(size_t{0}, takers, take, oneapi::tbb::simple_partitioner()); });
}

LentLoop::LentLoop(Loop loop) : loop_(std::move(loop)), before_(std::exchange(lent, &loop_)) {}

LentLoop::~LentLoop() {
  lent = before_;
}

LentPool::LentPool(int threads)
    : pool_(threads),
      lent_([this](size_t count, const std::function<void(size_t)>& body) { pool_.parallel_for(count, body); }) {}

LentPool::~LentPool() = default;

void in_parallel(size_t count, const std::function<void(size_t)>& body) {
  if (lent == nullptr || count < 2) {
    for (size_t i = 0; i < count; ++i) body(i);
    return;
  }
  const LentLoop::Loop& loop = *lent;
  const Unlent unlent;
  loop(count, body);
}

void in_parallel_parts(size_t size, size_t part, const std::function<void(size_t begin, size_t end)>& body) {
  in_parallel((size + part - 1) / part, [&](size_t i) { body(i * part, std::min(size, (i + 1) * part)); });
}

}  // namespace carina
