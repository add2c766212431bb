#pragma once

#include "accelerate/vector_internal.h"

namespace carina::accelerate {

// The most frequent depthwise convolutions: 3 x 3 adjacent taps, with the same stride in both directions. They read the
// input without a padded copy.
inline constexpr int kSide = 3;
inline bool is_three(const Plane& p) {
  return p.kernel_height == kSide && p.kernel_width == kSide && p.dilation_y == 1 && p.dilation_x == 1 &&
         p.stride_y == p.stride_x && p.stride_x <= 2;
}

// Computes such a convolution. The scratch memory is one row of zeros, as wide as the input.
void depthwise_threes(const Depthwise& job);

}  // namespace carina::accelerate
