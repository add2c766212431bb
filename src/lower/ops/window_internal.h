#pragma once

#include "lower/lowering_internal.h"

namespace carina::lower {

// A window that slides over an image: ATen's numbers, with the padding on each side.
struct Window {
  std::vector<int64_t> kernel;    // y, x
  std::vector<int64_t> stride;    // y, x
  std::vector<int64_t> dilation;  // y, x
  std::vector<int64_t> pad;       // top, bottom, left, right
};

// The same window so that the last one ends exactly where the padded image does, as TOSA demands: PyTorch leaves rows
// that no window reaches, or (ceil mode) lets the last window hang over.
struct WindowPlan {
  std::vector<int64_t> stride;
  std::vector<int64_t> pad;
  int64_t height;  // of the part of the image that windows reach
  int64_t width;
};

// `from` and `to`: input and output as [N,C,H,W].
WindowPlan plan_windows(const Window& window, const Shape& from, const Shape& to);

// The [N,H,W,C] image without the rows and columns that no window reaches.
ir::ValueId trimmed(Emitter& out, ir::ValueId image, const WindowPlan& plan);

}  // namespace carina::lower
