// Declares the cache that compilations of one model for several targets share.
#pragma once

#include "driver/split_cache.h"
#include "npu/weights/encoded_weights_cache.h"

namespace carina::driver {

// Results that compilations of one prepared model for several targets share: the partition and lowering for an NPU, and
// the encoded weights. Each is computed once. Safe for concurrent compilations. Programs and reports are the same with
// and without the cache.
struct CompileCache {
  SplitCache splits;
  npu::EncodedWeightsCache streams;
};

}  // namespace carina::driver
