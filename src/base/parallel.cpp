#include "base/parallel.h"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>

#include "base/check.h"

namespace carina {

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

void ThreadPool::parallel_for(size_t count, const std::function<void(size_t)>& body) {
  if (arena_ == nullptr || count < 2) {
    for (size_t i = 0; i < count; ++i) body(i);
    return;
  }
  arena_->arena.execute([&] { oneapi::tbb::parallel_for(size_t{0}, count, body); });
}

}  // namespace carina
