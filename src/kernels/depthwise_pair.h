#pragma once

#include <optional>

#include "kernels/convolution.h"

namespace carina::kernels {

// A pointwise convolution and the depthwise convolution of its result, whose pixels are computed when they are needed
// and never leave the cache. The results are those of dense_f32() and depthwise_f32(). Returns nothing for other
// windows, and for more than two spatial axes.
struct DepthwisePairF32 {
  ConvF32 pointwise;
  ConvF32 depthwise;
};
std::optional<Operator> depthwise_pair_f32(const DepthwisePairF32& pair);

}  // namespace carina::kernels
