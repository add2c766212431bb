#pragma once

#include "accelerate/vector_internal.h"

namespace carina::accelerate {

// The depthwise convolutions that most networks have: 3 x 3 taps side by side, the same step in both directions. They are
// computed from the input as it stands.
inline constexpr int kSide = 3;
inline bool is_three(const Plane& p) {
  return p.kernel_height == kSide && p.kernel_width == kSide && p.dilation_y == 1 && p.dilation_x == 1 &&
         p.stride_y == p.stride_x && p.stride_x <= 2;
}

// Of those; the scratch is a row of the input's width, of zeros.
void depthwise_threes(const Depthwise& job);

}  // namespace carina::accelerate
