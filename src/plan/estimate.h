#pragma once

#include "plan/block.h"
#include "plan/network.h"

namespace carina::plan {

// What an operation is expected to take, in cycles of the NPU's clock. Estimates after Vela's performance model, not
// measurements; good enough to compare choices with each other.
struct Estimate {
  double npu_cycles = 0;         // multiplying and output, overlapped block by block
  double feature_map_bytes = 0;  // read and written
  int64_t weight_fetches = 1;    // how often all of the weights are read
};
Estimate estimate(const Operation& op, const BlockConfig& block, const Target& target);

// Bytes that a port moves in a cycle of the NPU's clock.
double bytes_per_cycle(const npu::MemoryPort& port, const Target& target);

}  // namespace carina::plan
