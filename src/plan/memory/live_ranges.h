#pragma once

#include <cstdint>
#include <vector>

#include "base/memory/memory_planner.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// From when to when the bytes of a storage matter. Time counts the commands from 1; inputs are there at 0, outputs are
// read one after the last. What is copied part by part from its first byte to its last matters part by part (`fill_steps`).
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

// As plan_memory() takes it.
MemoryRequest memory_request(const LiveRange& range, int64_t bytes);

// Whether two storages of a space, at their addresses, need one byte at the same time.
bool collide(const Storage& a, const LiveRange& range_a, const Storage& b, const LiveRange& range_b);

// By storage; storages of constants have none.
std::vector<LiveRange> live_ranges(const Schedule& schedule);

// By tensor; constants, and what no command touches, have none.
std::vector<LiveRange> tensor_live_ranges(const Schedule& schedule);

// The bytes of a space that live while each stripe runs, in the order of the commands, storages taken as they are.
std::vector<int64_t> live_bytes(const Schedule& schedule, Space space);

}  // namespace carina::plan
