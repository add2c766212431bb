#pragma once

#include <cstddef>
#include <cstdint>

#include "facts/npu_targets.h"

// How fast each kind of access gets through a port, on every product alike: what a planner asks that must not know which
// product it plans for. The formulas are those of npu/cost.h.
namespace carina::npu {

enum class ReadChannel : uint8_t { kFeatureMaps, kWeights, kScales, kTransfers };

// Bytes in a cycle of the NPU's clock: of the port, or less where the channel's read buffer is too small for the memory's
// latency.
double channel_bytes_per_cycle(const AcceleratorConfig& npu, const MemoryPort& port, ReadChannel channel);

// How often an operation of so many blocks in the plane reads its scales.
int64_t scale_fetches(const AcceleratorConfig& npu, int64_t blocks_in_plane);

// What the decoders take for all weights of an operation, where nothing else counts it: 0 where the MAC unit's cycles
// hold it already.
struct Decoding {
  const AcceleratorConfig& npu;
  const MemoryPort& port;
  double weights = 0;
  double zero_rate = 0;
  double encoded_bytes = 0;
};
double decode_cycles(const Decoding& what);

// Copies `bytes` from one port to another; a port that is nullptr is the NPU's own memory.
double transfer_cycles(const AcceleratorConfig& npu, double bytes, const MemoryPort* from, const MemoryPort* to);

}  // namespace carina::npu
