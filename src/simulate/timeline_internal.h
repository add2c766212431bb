#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "simulate/report.h"

namespace carina::simulate {

// Of the width of each memory's port, what an operation wants while it runs at its own full speed; 0 to 1.
using PortShares = std::array<double, kMemoryKinds>;

// When operations run: the command parser goes through the stream and waits where the stream says so or a queue is
// full; kernels run one after the other on one engine, transfers on another. Both slow down while they want more of a
// port than it has (npu::concurrent_progress).
class Timeline {
 public:
  Timeline(int kernel_queue, int dma_queue) : kernels_(kernel_queue), dmas_(dma_queue) {}

  void kernel(uint64_t cycles, const PortShares& shares) { issue(kernels_, cycles, shares); }
  void dma(uint64_t cycles, const PortShares& shares) { issue(dmas_, cycles, shares); }
  // Until at most `outstanding` are left.
  void wait_kernels(int outstanding) { wait(kernels_, outstanding); }
  void wait_dmas(int outstanding) { wait(dmas_, outstanding); }

  // From when to when the operations that have ended ran, in the order of their issue.
  struct Slot {
    uint64_t start = 0;
    uint64_t end = 0;
  };
  [[nodiscard]] const std::vector<Slot>& kernels() const { return kernels_.ended; }
  [[nodiscard]] const std::vector<Slot>& dmas() const { return dmas_.ended; }
  [[nodiscard]] uint64_t now() const { return static_cast<uint64_t>(now_); }

 private:
  struct Work {
    double left;
    PortShares shares;
    double start = 0;  // of the first in the queue
  };
  struct Engine {
    explicit Engine(int queue_depth) : depth(queue_depth) {}
    int depth;
    std::deque<Work> queue = {};
    std::vector<Slot> ended = {};
  };

  void issue(Engine& engine, uint64_t cycles, const PortShares& shares);
  void wait(Engine& engine, int outstanding);
  void run_until_one_ends();
  void end_first(Engine& engine);

  double now_ = 0;
  Engine kernels_;
  Engine dmas_;
};

}  // namespace carina::simulate
