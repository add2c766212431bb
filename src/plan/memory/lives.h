#pragma once

#include <cstdint>
#include <vector>

#include "base/place.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// From when to when the bytes of a storage matter. Time counts the commands from 1; inputs are there at 0, outputs are
// read one after the last. What is copied part by part from its first byte to its last matters part by part (`rises`).
struct Life {
  int64_t first = INT64_MAX;
  int64_t last = -1;
  std::vector<Rise> rises = {};
  void touch(int64_t time) {
    first = time < first ? time : first;
    last = time > last ? time : last;
  }
  [[nodiscard]] bool used() const { return last >= 0; }
};

// As place() takes it.
Interval interval_of(const Life& life, int64_t bytes);

// Whether two storages of a space, as they are placed, need one byte at the same time.
bool collide(const Storage& a, const Life& life_a, const Storage& b, const Life& life_b);

// By storage; storages of constants have none.
std::vector<Life> lives_of(const Schedule& schedule);

// By tensor; constants, and what no command touches, have none.
std::vector<Life> tensor_lives(const Schedule& schedule);

// The bytes of a space that live while each stripe runs, in the order of the commands, storages taken as they are.
std::vector<int64_t> live_bytes(const Schedule& schedule, Space space);

}  // namespace carina::plan
