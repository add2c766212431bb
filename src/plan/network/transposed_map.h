#pragma once

#include "facts/npu_enums.h"
#include "plan/network/step.h"

namespace carina::plan {

// An OFM as the NPU stores it: which axis of the result becomes which axis of the stored map, whose channels are
// contiguous.
//   Example: a result of 8x8 pixels and 24 channels is stored with its channels outermost: strides y=8 x=1 c=64. Its
//   transpose is CHW, and the stored map has 24 rows of 8x8 elements.
struct TransposedMap {
  npu::ActivationTranspose transpose = npu::ActivationTranspose::HWC;
  FeatureMap stored = {};
};

// The stored map of an OFM; the map itself if it is not transposed.
TransposedMap transposed_map(const FeatureMap& map);

}  // namespace carina::plan
