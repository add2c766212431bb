#include "lower/ops/window_internal.h"

#include <algorithm>

namespace carina::lower {

WindowPlan plan_windows(const Window& window, const Shape& from, const Shape& to) {
  WindowPlan plan{.stride = window.stride, .pad = window.pad, .sizes = {}};
  for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
    int64_t& size = plan.sizes.emplace_back(from[2 + axis]);
    int64_t& pad_after = plan.pad[2 * axis + 1];
    if (to[2 + axis] == 1) plan.stride[axis] = 1;  // there is only one window position
    const int64_t extent = window.dilation[axis] * (window.kernel[axis] - 1) + 1;
    const int64_t reached = (to[2 + axis] - 1) * plan.stride[axis] + extent;
    const int64_t excess = plan.pad[2 * axis] + size + pad_after - reached;
    if (excess <= 0) {
      pad_after -= excess;
      continue;
    }
    const int64_t from_pad = std::min(pad_after, excess);
    pad_after -= from_pad;
    size -= excess - from_pad;
  }
  return plan;
}

ir::ValueId trimmed(ir::Emitter& out, ir::ValueId image, const WindowPlan& plan) {
  Shape size = out.shape(image);
  for (size_t axis = 0; axis < plan.sizes.size(); ++axis) size[1 + axis] = plan.sizes[axis];
  return out.slice(image, std::vector<int64_t>(size.rank(), 0), size);
}

}  // namespace carina::lower
