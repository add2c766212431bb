#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "npu/weights/encoded_weights_cache.h"
#include "npu/weights/value_counts.h"
#include "plan/schedule/schedule.h"

// The encoded bytes of one weight slice: scales, and a stream of weights for each core.
namespace carina::plan {

// The encoded scales and weights of a slice. The offsets in `cores` count from the start of the scales and of the
// weights.
struct EncodedSlice {
  std::vector<std::byte> scales = {};
  std::shared_ptr<const std::vector<std::byte>> weights = {};  // nullptr: scales only
  std::vector<CoreStream> cores = {};
  std::vector<npu::ValueCounts> values = {};  // how often each occurs, by core; empty: scales only
};

// Appends `bytes` at the next offset at which a stream may start. Returns the offset.
int64_t append_aligned(std::vector<std::byte>& to, std::span<const std::byte> bytes);

void append_scales(EncodedSlice& slice, size_t core, std::span<const std::byte> table);
// Sets the streams of all cores. The bytes of a single stream are shared, not copied.
void set_weights(EncodedSlice& slice, std::span<const npu::EncodedWeightsCache::Stream> streams);

}  // namespace carina::plan
