#include "frontend/tflite/to_tosa/window_internal.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/tflite/axis_padding.h"

namespace carina::tflite {

Result<Coverage> coverage_of(const Call& call, Padding padding, const Window& window) {
  constexpr int64_t kMax = 1 << 20;
  for (const int64_t n : {window.size, window.kernel, window.stride, window.dilation}) {
    if (n < 1 || n > kMax) return call.reject("a size, stride or dilation is out of range", {}, fmt::to_string(n));
  }
  const int64_t extent = (window.kernel - 1) * window.dilation + 1;
  Coverage out;
  const bool is_same = padding == Padding::kSame;
  out.results = is_same ? (window.size + window.stride - 1) / window.stride
                        : (window.size - extent + window.stride) / window.stride;
  if (out.results < 1 || (!is_same && window.size < extent)) return call.reject("the window is larger than the input");
  const int64_t needed = (out.results - 1) * window.stride + extent;
  const AxisPadding added = is_same ? same_padding(window.size, extent, window.stride) : AxisPadding();
  out.before = added.before;
  out.after = added.after;
  out.used = needed - out.before - out.after;
  return out;
}

ir::ValueId used_part(Call& call, ir::ValueId input, const Coverage& rows, const Coverage& columns) {
  const Shape shape = call.out.shape(input);
  return call.out.slice(input, {0, 0, 0, 0}, Shape{shape[0], rows.used, columns.used, shape[3]});
}

}  // namespace carina::tflite
