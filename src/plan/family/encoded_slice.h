#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "npu/encoded_weights_cache.h"
#include "npu/value_counts.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// Scales and weights of a slice, encoded. Offsets of `cores` count from the start of each.
struct EncodedSlice {
  std::vector<std::byte> scales = {};
  std::shared_ptr<const std::vector<std::byte>> weights = {};  // none: scales only
  std::vector<CoreStream> cores = {};
  std::vector<npu::ValueCounts> values = {};  // of each core's stream; none without weights
};

// Where bases of streams may stand. Returns the offset.
int64_t append_aligned(std::vector<std::byte>& to, std::span<const std::byte> bytes);

void append_scales(EncodedSlice& slice, size_t core, std::span<const std::byte> table);
// The streams of all cores; bytes of a single one are not copied.
void set_weights(EncodedSlice& slice, std::span<const npu::EncodedWeightsCache::Stream> streams);

}  // namespace carina::plan
