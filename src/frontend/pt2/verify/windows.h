// Declares the sizes that sliding windows give.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>

#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

// One axis of a convolution, a pool or im2col.
struct Window {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
  bool ceil_mode = false;
};

// The number of windows along an axis of this size. Fails if there is none, or if an argument is out of range.
std::expected<int64_t, std::string> windows_in(int64_t size, const Window& window);
// The size of a transposed convolution's result.
std::expected<int64_t, std::string> transposed_size(int64_t size, const Window& window, int64_t output_padding);

}  // namespace carina::aten
