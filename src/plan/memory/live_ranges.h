#pragma once

#include <cstdint>
#include <vector>

#include "base/memory/memory_planner.h"
#include "plan/schedule/schedule.h"

// Live ranges of storages and tensors.
namespace carina::plan {

// The time in which the bytes of a storage are live. Time counts the commands from 1. Inputs are written at time 0;
// outputs are read one step after the last command. A storage that is copied part by part, from its first byte to its
// last, becomes live part by part (`fill_steps`).
struct LiveRange {
  int64_t first = INT64_MAX;
  int64_t last = -1;
  std::vector<FillStep> fill_steps = {};
  void touch(int64_t time) {
    first = time < first ? time : first;
    last = time > last ? time : last;
  }
  [[nodiscard]] bool used() const { return last >= 0; }
};

// Converts a live range to a request of plan_memory().
MemoryRequest memory_request(const LiveRange& range, int64_t bytes);

// Returns whether two storages of a space overlap in both address and time.
bool collide(const Storage& a, const LiveRange& range_a, const Storage& b, const LiveRange& range_b);

// Live ranges by storage; storages of constants have none.
std::vector<LiveRange> live_ranges(const Schedule& schedule);

// Live ranges by tensor; constants and unused tensors have none.
std::vector<LiveRange> tensor_live_ranges(const Schedule& schedule);

// The live bytes of a space for each stripe, in command order. The storages are taken as they are.
std::vector<int64_t> live_bytes(const Schedule& schedule, Space space);

}  // namespace carina::plan
