#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace carina::interpret {

// The threads of one interpreter. Between the operators of a graph lie microseconds, so a worker that has nothing to do
// first spins and only then sleeps; nothing is allocated while running. The calling thread takes chunks from the front,
// every other worker from the back: neighboring chunks of successive operators tend to stay in the same core's cache.
class Workers {
 public:
  static constexpr int64_t kMaxChunks = 0xFFFF;

  // `threads` >= 1, the calling thread included; they start with the first work that has more than one chunk.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] int threads() const { return threads_; }

  // Calls body(slot, chunk) for each chunk in [0, count), count <= kMaxChunks, in any order and possibly at the same
  // time; returns when all are done. Calls that run at the same time have different slots, 0 <= slot < threads().
  // One call at a time; a body does not call this again. What a body throws (an internal error) is thrown here when all
  // chunks are done; of several, one.
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
  // Written between jobs only; a thread that has taken a chunk may read it until that chunk is done.
  Job job_;
  uint32_t count_ = 0;
  // Number of the job, then the chunks not taken yet: [first, last). One word, so that a thread that was slow cannot
  // take a chunk of a job that it did not see.
  alignas(64) std::atomic<uint64_t> chunks_{0};
  alignas(64) std::atomic<uint32_t> done_{0};
  alignas(64) std::atomic<uint32_t> sleeping_{0};
  std::atomic<uint32_t> wakes_{0};
  std::atomic<bool> ending_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // written by the one that sets `failed_`, read when all chunks are done
};

}  // namespace carina::interpret
