#pragma once

#include "lower/lowering_internal.h"

namespace carina::lower {

// A window that moves over an image or a volume: ATen's attributes, with the padding of each side.
struct Window {
  std::vector<int64_t> kernel;    // (z,) y, x
  std::vector<int64_t> stride;    // (z,) y, x
  std::vector<int64_t> dilation;  // (z,) y, x
  std::vector<int64_t> pad;       // (front, back,) top, bottom, left, right
};

// The window with paddings and image sizes for which the last window ends exactly at the end of the padded image, as
// TOSA requires. PyTorch leaves rows that no window reaches, or (ceil mode) lets the last window extend beyond the
// image.
//
// Example: 8 rows, kernel 3, stride 2, no padding: 3 outputs read rows 0 to 6.
// The plan trims row 7, so sizes is 7 along that axis.
struct WindowPlan {
  std::vector<int64_t> stride;
  std::vector<int64_t> pad;
  std::vector<int64_t> sizes;  // sizes of the part of the image that windows read
};

// `from` and `to` are the shapes of input and output: [N,C,H,W] or [N,C,D,H,W].
WindowPlan plan_windows(const Window& window, const Shape& from, const Shape& to);

// Removes the rows and columns of an [N,H,W,C] image, or [N,D,H,W,C] volume, that no window reads.
ir::ValueId trimmed(ir::Emitter& out, ir::ValueId image, const WindowPlan& plan);

}  // namespace carina::lower
