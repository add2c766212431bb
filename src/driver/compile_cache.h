#pragma once

#include "driver/split_cache.h"
#include "npu/encoded_weights_cache.h"

namespace carina::driver {

// What compilations of one prepared model for several targets have in common, found once: how it is split and lowered
// for an NPU, and its encoded weights. Safe for concurrent compilations; programs and
// reports are the same with and without.
struct CompileCache {
  SplitCache splits;
  npu::EncodedWeightsCache streams;
};

}  // namespace carina::driver
