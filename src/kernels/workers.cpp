#include "kernels/workers.h"

#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace carina::kernels {

namespace {

// About some tens of microseconds: longer than the time between two operators, and shorter than a time slice.
constexpr int kSpins = 2000;

// With more threads than processors, spinning would take time from threads that have work.
int spins_of(int threads) {
  return static_cast<unsigned>(threads) <= std::thread::hardware_concurrency() ? kSpins : 0;
}

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

struct Chunks {
  uint32_t job;
  uint32_t first;
  uint32_t last;

  static Chunks of(uint64_t word) {
    return {.job = static_cast<uint32_t>(word >> 32),
            .first = static_cast<uint32_t>(word >> 16 & 0xFFFF),
            .last = static_cast<uint32_t>(word & 0xFFFF)};
  }
  [[nodiscard]] uint64_t word() const { return uint64_t{job} << 32 | uint64_t{first} << 16 | last; }
  [[nodiscard]] bool empty() const { return first == last; }
};

}  // namespace

Workers::Workers(int threads) : threads_(threads), spins_(spins_of(threads)) {}

Workers::~Workers() {
  ending_.store(true);
  wakes_.fetch_add(1);
  wakes_.notify_all();
  for (std::thread& thread : started_) thread.join();
}

void Workers::start() {
  for (int slot = 1; slot < threads_; ++slot) started_.emplace_back([this, slot] { work(slot); });
}

bool Workers::take_chunk(int slot, uint32_t& chunk) {
  uint64_t word = chunks_.load(std::memory_order_acquire);
  for (;;) {
    Chunks left = Chunks::of(word);
    if (left.empty()) return false;
    chunk = slot % 2 == 0 ? left.first++ : --left.last;
    if (chunks_.compare_exchange_weak(word, left.word(), std::memory_order_acq_rel, std::memory_order_acquire))
      return true;
  }
}

// An exception that leaves a thread ends the process, so it is passed to the caller.
void Workers::run_chunk(int slot, uint32_t chunk) {
  try {
    job_.call(job_.body, slot, chunk);
  } catch (...) {
    if (!failed_.exchange(true)) failure_ = std::current_exception();
  }
}

void Workers::rethrow_failure() {
  failed_.store(false);
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Workers::run_chunks(int slot) {
  for (uint32_t chunk = 0; take_chunk(slot, chunk);) {
    const uint32_t count = count_;
    run_chunk(slot, chunk);
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) done_.notify_one();
  }
}

void Workers::share(uint32_t count, const Job& job) {
  if (started_.empty()) start();
  job_ = job;
  count_ = count;
  done_.store(0, std::memory_order_relaxed);
  const uint32_t number = Chunks::of(chunks_.load(std::memory_order_relaxed)).job + 1;
  chunks_.store(Chunks{.job = number, .first = 0, .last = count}.word());
  if (sleeping_.load() != 0) {
    wakes_.fetch_add(1);
    wakes_.notify_all();
  }
  run_chunks(0);
  for (int spin = 0; spin < spins_ && done_.load(std::memory_order_acquire) != count; ++spin) relax();
  for (uint32_t done = done_.load(std::memory_order_acquire); done != count;
       done = done_.load(std::memory_order_acquire)) {
    done_.wait(done, std::memory_order_acquire);
  }
  if (failed_.load()) rethrow_failure();
}

// The worker of the last chunk notifies after it counted. This function does not rely on `done_` keeping its value.
void Workers::wait_for_work() {
  for (int spin = 0; spin < spins_; ++spin) {
    if (!Chunks::of(chunks_.load(std::memory_order_acquire)).empty() || ending_.load()) return;
    relax();
  }
  const uint32_t wakes = wakes_.load();
  sleeping_.fetch_add(1);
  // If the new job comes after `sleeping_` is set, its owner wakes this thread; if it comes before, the check below
  // finds it.
  if (Chunks::of(chunks_.load()).empty() && !ending_.load()) wakes_.wait(wakes);
  sleeping_.fetch_sub(1);
}

void Workers::work(int slot) {
  while (!ending_.load(std::memory_order_relaxed)) {
    run_chunks(slot);
    wait_for_work();
  }
}

}  // namespace carina::kernels
