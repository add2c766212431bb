#pragma once

#include "lower/lowering_internal.h"

namespace carina::lower {

// A window that slides over an image, or a volume: ATen's numbers, with the padding on each side.
struct Window {
  std::vector<int64_t> kernel;    // (z,) y, x
  std::vector<int64_t> stride;    // (z,) y, x
  std::vector<int64_t> dilation;  // (z,) y, x
  std::vector<int64_t> pad;       // (front, back,) top, bottom, left, right
};

// The same window so that the last one ends exactly where the padded image does, as TOSA demands: PyTorch leaves rows
// that no window reaches, or (ceil mode) lets the last window hang over.
struct WindowPlan {
  std::vector<int64_t> stride;
  std::vector<int64_t> pad;
  std::vector<int64_t> sizes;  // of the part of the image that windows reach
};

// `from` and `to`: input and output as [N,C,H,W], or [N,C,D,H,W].
WindowPlan plan_windows(const Window& window, const Shape& from, const Shape& to);

// The [N,H,W,C] image, or the [N,D,H,W,C] volume, without what no window reaches.
ir::ValueId trimmed(ir::Emitter& out, ir::ValueId image, const WindowPlan& plan);

}  // namespace carina::lower
