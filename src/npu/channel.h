#pragma once

#include <cstddef>
#include <cstdint>

#include "facts/npu_targets.h"

// The speed of memory accesses through a port, in terms that hold for every product. The planner uses these functions
// so that it need not know the product. The formulas are those of npu/cost.h.
namespace carina::npu {

enum class ReadChannel : uint8_t { kFeatureMaps, kWeights, kScales, kTransfers };

// Bytes per cycle of the NPU's clock that a channel moves: the port's bandwidth, or less if the channel's read buffer
// is too small for the memory's latency.
double channel_bytes_per_cycle(const AcceleratorConfig& npu, const MemoryPort& port, ReadChannel channel);

// The number of times that an operation reads its scales, if the OFM plane has this many blocks.
int64_t scale_fetches(const AcceleratorConfig& npu, int64_t blocks_in_plane);

// The cycles that the decoders take for all weights of an operation. They are 0 if the MAC unit's cycles include them
// already.
struct Decoding {
  const AcceleratorConfig& npu;
  const MemoryPort& port;
  double weights = 0;
  double zero_rate = 0;
  double encoded_bytes = 0;
};
double decode_cycles(const Decoding& what);

// The cycles of a copy of `bytes` from one port to another. A port that is nullptr is the NPU's own memory.
double transfer_cycles(const AcceleratorConfig& npu, double bytes, const MemoryPort* from, const MemoryPort* to);

}  // namespace carina::npu
