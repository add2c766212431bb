#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace carina::kernels {

// The threads of one engine. The time between two operators is only microseconds, so an idle worker first spins
// and then sleeps. Nothing is allocated while running. The calling thread takes chunks from the front, every other
// worker from the back. So neighboring chunks of successive operators tend to stay in the cache of one core.
class Workers {
 public:
  static constexpr int64_t kMaxChunks = 0xFFFF;

  // `threads` >= 1 includes the calling thread. The threads start with the first job of more than one chunk.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] int threads() const { return threads_; }

  // Calls body(slot, chunk) for each chunk in [0, count), count <= kMaxChunks. The calls come in any order and may be
  // concurrent. Concurrent calls have different slots, 0 <= slot < threads(). Returns when all calls are done. Only one
  // call of this function runs at a time, and a body must not call it. If bodies throw (an internal error), one of the
  // exceptions is thrown here when all chunks are done.
  template <typename Body>
  void for_each(int64_t count, const Body& body) {
    if (threads_ == 1 || count < 2) {
      for (int64_t chunk = 0; chunk < count; ++chunk) body(int64_t{0}, chunk);
      return;
    }
    share(static_cast<uint32_t>(count),
          {.call = [](const void* object, int64_t slot,
                      int64_t chunk) { (*static_cast<const Body*>(object))(slot, chunk); },
           .body = &body});
  }

 private:
  struct Job {
    void (*call)(const void* body, int64_t slot, int64_t chunk) = nullptr;
    const void* body = nullptr;
  };

  void share(uint32_t count, const Job& job);
  void start();
  void work(int slot);
  void wait_for_work();
  bool take_chunk(int slot, uint32_t& chunk);
  void run_chunks(int slot);
  void run_chunk(int slot, uint32_t chunk);
  void rethrow_failure();

  int threads_;
  int spins_;
  std::vector<std::thread> started_;
  // Written only between jobs. A thread that has taken a chunk may read it until that chunk is done.
  Job job_;
  uint32_t count_ = 0;
  // The number of the job, then the chunks that are not taken yet: [first, last). They share one atomic word, so that a
  // slow thread cannot take a chunk of a newer job.
  alignas(64) std::atomic<uint64_t> chunks_{0};
  alignas(64) std::atomic<uint32_t> done_{0};
  alignas(64) std::atomic<uint32_t> sleeping_{0};
  std::atomic<uint32_t> wakes_{0};
  std::atomic<bool> ending_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // written by the thread that sets `failed_`, read when all chunks are done
};

// The most chunks of one job. There are several per thread, because other programs may delay some of the threads.
inline int64_t max_chunks(int threads) {
  return threads == 1 ? 1 : std::min(Workers::kMaxChunks, int64_t{4} * threads);
}

// Calls body(slot, begin, end) for ranges that cover [0, count). It uses several threads if there are some and the work
// is large enough: a range has at least `grain` indices. Concurrent calls have different slots below threads(), so a
// kernel needs one scratch area per slot.
template <typename Body>
void split_slots(Workers& workers, int64_t count, int64_t grain, const Body& body) {
  const int64_t chunks = std::min(max_chunks(workers.threads()), count / std::max<int64_t>(grain, 1));
  if (chunks < 2) {
    if (count > 0) body(int64_t{0}, int64_t{0}, count);
    return;
  }
  const int64_t size = count / chunks;
  const int64_t longer = count % chunks;  // this many chunks have one index more
  workers.for_each(chunks, [&](int64_t slot, int64_t chunk) {
    const int64_t begin = chunk * size + std::min(chunk, longer);
    body(slot, begin, begin + size + (chunk < longer ? 1 : 0));
  });
}

// The same call without the slot.
template <typename Body>
void split(Workers& workers, int64_t count, int64_t grain, const Body& body) {
  split_slots(workers, count, grain, [&](int64_t, int64_t begin, int64_t end) { body(begin, end); });
}

}  // namespace carina::kernels
