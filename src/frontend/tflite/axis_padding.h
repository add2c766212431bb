#pragma once

#include <algorithm>
#include <cstdint>

namespace carina::tflite {

// The elements that padding adds before and after one axis.
struct AxisPadding {
  int64_t before = 0;
  int64_t after = 0;
};

// The padding SAME of windows of `extent` elements, as LiteRT computes it: one more after than before if their sum is
// odd.
//   Example: 6 elements, windows of 3, a stride of 2 have 3 results, which reach over 7 elements: 0 before, 1 after.
inline AxisPadding same_padding(int64_t size, int64_t extent, int64_t stride) {
  const int64_t results = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>((results - 1) * stride + extent - size, 0);
  return {.before = total / 2, .after = total - total / 2};
}

}  // namespace carina::tflite
