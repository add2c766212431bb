#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

namespace carina::simulate {

// When operations run: the command parser goes through the stream and waits where the stream says so or a queue is
// full; kernels run one after the other on one engine, transfers on another.
class Timeline {
 public:
  Timeline(int kernel_queue, int dma_queue) : kernel_queue_(kernel_queue), dma_queue_(dma_queue) {}

  struct Slot {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t waited = 0;  // from when its engine was free to its start
  };
  Slot kernel(uint64_t cycles) { return run(kernels_, kernel_queue_, kernel_end_, cycles); }
  Slot dma(uint64_t cycles) { return run(dmas_, dma_queue_, dma_end_, cycles); }
  // Until at most `outstanding` are left.
  void wait_kernels(int outstanding) { drain(kernels_, outstanding); }
  void wait_dmas(int outstanding) { drain(dmas_, outstanding); }
  [[nodiscard]] uint64_t end() const { return std::max({now_, kernel_end_, dma_end_}); }

 private:
  Slot run(std::deque<uint64_t>& queue, int depth, uint64_t& engine_end, uint64_t cycles) {
    drain(queue, depth - 1);
    const uint64_t start = std::max(now_, engine_end);
    const Slot slot{.start = start, .end = start + cycles, .waited = start - engine_end};
    engine_end = slot.end;
    queue.push_back(slot.end);
    return slot;
  }
  void drain(std::deque<uint64_t>& queue, int outstanding) {
    while (static_cast<int>(queue.size()) > std::max(0, outstanding)) {
      now_ = std::max(now_, queue.front());
      queue.pop_front();
    }
  }

  int kernel_queue_;
  int dma_queue_;
  uint64_t now_ = 0;
  uint64_t kernel_end_ = 0;
  uint64_t dma_end_ = 0;
  std::deque<uint64_t> kernels_;
  std::deque<uint64_t> dmas_;
};

}  // namespace carina::simulate
