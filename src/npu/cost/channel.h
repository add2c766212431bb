#pragma once

#include <cstddef>
#include <cstdint>

#include "facts/npu_targets.h"
#include "npu/cost/cost.h"

// The speed of memory accesses through a port, in terms that hold for every product. The planner uses these functions
// so that it need not know the product. The formulas are those of npu/cost/cost.h.
namespace carina::npu {

enum class ReadChannel : uint8_t { kFeatureMaps, kWeights, kFastWeights, kScales, kTransfers };

// Bytes per cycle of the NPU's clock that a channel moves: the port's bandwidth, or less if the channel's read buffer
// is too small for the memory's latency.
double channel_bytes_per_cycle(const AcceleratorConfig& npu, const MemoryPort& port, ReadChannel channel);

// The number of weights that an operation decodes for one block of the OFM's plane, with the zeros of the order.
struct DecodedWeights {
  const AcceleratorConfig& npu;
  MacKind kind = MacKind::kDepthFirst;
  int ifm_bits = 8;
  int ublock_depth = 8;  // of the OFM
  int64_t taps = 1;
  int64_t ifm_depth = 1;
  int64_t ofm_depth = 1;
  bool sparse_weights = false;
};
double decoded_weights(const DecodedWeights& what);

// The cycles of an operation that waits for its decoders only. They are 0 if the MAC unit's cycles include them
// already.
struct Decoding {
  const AcceleratorConfig& npu;
  const MemoryPort& port;
  double weights = 0;  // padding included
  double zero_rate = 0;
  double encoded_bytes = 0;
  bool fast = false;   // the second format of U85
  int64_t planes = 1;  // blocks in the plane of the OFM, for each of which all weights are decoded again
};
double decode_cycles(const Decoding& what);

// The cycles of a copy of `bytes` from one port to another. A port that is nullptr is the NPU's own memory.
double transfer_cycles(const AcceleratorConfig& npu, double bytes, const MemoryPort* from, const MemoryPort* to);

}  // namespace carina::npu
