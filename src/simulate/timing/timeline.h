#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "simulate/interface/report.h"

// The estimated time line of a run.
namespace carina::simulate {

// Computes when operations run. The command parser reads the stream in order; it waits where the stream says so, or
// while a queue is full. Kernels run one after the other on one engine, transfers on another. Both slow down while they
// use more of a port than it has (npu::concurrent_progress).
class Timeline {
 public:
  Timeline(int kernel_queue, int dma_queue) : kernels_(kernel_queue), dmas_(dma_queue) {}

  void kernel(uint64_t cycles, const PortShares& shares) { issue(kernels_, cycles, shares); }
  void dma(uint64_t cycles, const PortShares& shares) { issue(dmas_, cycles, shares); }
  // Waits until at most `outstanding` are left.
  void wait_kernels(int outstanding) { wait(kernels_, outstanding); }
  void wait_dmas(int outstanding) { wait(dmas_, outstanding); }

  // Start and end of the finished operations, in the order of issue.
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
