#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"
#include "plan/select/estimate_internal.h"

// Steps of operations that move a window: convolutions, depthwise convolutions, pools. Strides and kernels beyond the
// NPU's limits are divided; 1x1 kernels get the arrangement of pixels that makes long rows.
//   Example: a 1x1 convolution of 7x7 pixels becomes one of 1x49 pixels.
namespace carina::plan {
namespace {

constexpr int64_t kMaxUnrolled = 4096;  // most operations for one oversized stride
constexpr size_t kN = 0, kH = 1, kW = 2, kC = 3;

int64_t size(const View& view, size_t axis) {
  return view.axes[axis].size;
}

// Sums of 16-bit products may need more than 32 bits before they are scaled.
bool needs_wide_sums(const Window& window, const Epilogue& epilogue) {
  return window.kind != StepKind::kPool && window.ifm.type.bits == 16 && !epilogue.sums_fit_32 &&
         (epilogue.scaled || epilogue.type.bits == 64);
}

Step step_of(const Window& window, const Epilogue& epilogue) {
  const bool has_weights = window.kind != StepKind::kPool;
  return {.kind = window.kind,
          .pool = window.pool,
          .ofm = image_map(window.ofm, epilogue.type, epilogue.zero_point),
          .ifm = image_map(window.ifm.view, window.ifm.type, window.ifm.zero_point),
          .kernel = window.kernel,
          .padding = window.padding,
          .upscale = window.upscale,
          .inserts_zeros = window.inserts_zeros,
          .weights = window.weights,
          .per_channel = has_weights,
          .scaling = has_weights ? epilogue.scaling() : simplified(epilogue.scaling()),
          .activation = epilogue.activation,
          .acc = needs_wide_sums(window, epilogue) ? AccWidth::kWide : AccWidth::kNarrow,
          .name = {}};
}

void push_window(Selection& s, const Window& window, const Epilogue& epilogue) {
  Step step = step_of(window, epilogue);
  if (step.acc == AccWidth::kWide) s.network().material.weights[window.weights.index()].acc = AccWidth::kWide;
  step.sparse_weights = window.kind == StepKind::kConv && s.has_sparse_weights(window.weights);
  s.push(std::move(step));
}

// A 1x1 kernel without stride allows any arrangement of pixels. Rows are made as long as the format prefers.
bool flatten_pixels(Window& window) {
  if (window.kernel != Kernel{} || window.padding != Padding{} || window.upscale != 1) return false;
  const auto flat = [](const View& view) {
    const int64_t w = size(view, kW), rows = size(view, kN) * size(view, kH);
    return reshaped(view, w == 1 ? Shape{1, 1, rows, size(view, kC)} : Shape{1, rows, w, size(view, kC)});
  };
  const auto ifm = flat(window.ifm.view), ofm = flat(window.ofm);
  if (!ifm || !ofm || size(*ifm, kH) > npu::kMaxAxis || size(*ifm, kW) > npu::kMaxAxis) return false;
  window.ifm.view = *ifm;
  window.ofm = *ofm;
  return true;
}

// Processes a column as a row, because blocks are wider than high. Returns whether it is one.
bool lay_column_down(Window& window) {
  // Lines of one convolution share its weights, so a line of one pixel is laid down like the others.
  const bool column = size(window.ifm.view, kW) == 1 && size(window.ofm, kW) == 1 && window.kernel.width == 1 &&
                      window.padding.left == 0 && window.padding.right == 0;
  // Pool kernels may be wider than they may be high on the NPU, not the reverse. Convolutions are limited in height
  // too.
  if (!column) return false;
  for (View* view : {&window.ifm.view, &window.ofm}) std::swap(view->axes[kH], view->axes[kW]);
  Kernel& k = window.kernel;
  std::swap(k.height, k.width);
  std::swap(k.stride_y, k.stride_x);
  std::swap(k.dilation_y, k.dilation_x);
  window.padding = {.top = 0, .bottom = 0, .left = window.padding.top, .right = window.padding.bottom};
  return true;
}

void lay_weights_down(Selection& s, WeightsId id) {
  if (!id.valid()) return;
  Weights& weights = s.network().material.weights[id.index()];
  if (weights.width == 1) std::swap(weights.height, weights.width);
}

// One output row (axis kH) or column (kW) of a window.
Window one_line(const Window& window, size_t axis, int64_t index) {
  Window line = window;
  const bool rows = axis == kH;
  int64_t& before = rows ? line.padding.top : line.padding.left;
  int64_t& after = rows ? line.padding.bottom : line.padding.right;
  int64_t& stride = rows ? line.kernel.stride_y : line.kernel.stride_x;
  const int64_t extent = rows ? line.kernel.extent_h() : line.kernel.extent_w();
  const int64_t first = index * stride - before;
  const int64_t start = std::max<int64_t>(first, 0);
  const int64_t end = std::min(first + extent, size(window.ifm.view, axis));
  before = start - first;
  after = first + extent - end;
  stride = 1;
  line.ofm = sliced_axis(window.ofm, axis, index, 1);
  line.ifm.view = sliced_axis(window.ifm.view, axis, start, std::max<int64_t>(end - start, 1));
  return line;
}

bool has_large_stride(const Window& window, size_t axis) {
  const Kernel& k = window.kernel;
  const int64_t stride = axis == kH ? k.stride_y : k.stride_x, extent = axis == kH ? k.extent_h() : k.extent_w();
  return stride > npu::kMaxStride && extent > 1 && size(window.ofm, axis) > 1;
}

// The largest stride that the NPU supports and that divides this one.
int64_t supported_divisor(int64_t stride) {
  int64_t divisor = npu::kMaxStride;
  while (stride % divisor != 0) --divisor;
  return divisor;
}

// The window with smaller strides, whose results are among others.
//   Example: 8x8 results with stride 4 are every second one of 15x15 results with stride 2.
Window with_smaller_strides(const Window& window) {
  Window small = window;
  Shape shape = window.ofm.shape();
  for (const size_t axis : {kH, kW}) {
    if (!has_large_stride(window, axis)) continue;
    int64_t& stride = axis == kH ? small.kernel.stride_y : small.kernel.stride_x;
    const int64_t divisor = supported_divisor(stride);
    int64_t& outputs = shape[static_cast<int64_t>(axis)];
    outputs = (outputs - 1) * (stride / divisor) + 1;
    stride = divisor;
  }
  small.ofm = dense_view({}, shape);
  return small;
}

// The cycles of one operation for each result along the axes with a large stride.
double cycles_of_lines(const Selection& s, const Window& window, const Epilogue& epilogue) {
  int64_t lines = 1;
  Window line = window;
  for (const size_t axis : {kH, kW}) {
    if (!has_large_stride(window, axis)) continue;
    lines *= size(window.ofm, axis);
    line = one_line(line, axis, size(window.ofm, axis) / 2);
  }
  return static_cast<double>(lines) * cycles_of(s, line, epilogue);
}

// Whether the results between those of `window` cost less than one operation for each result.
bool smaller_strides_pay(const Selection& s, const Window& window, const Epilogue& epilogue) {
  return (has_large_stride(window, kH) || has_large_stride(window, kW)) &&
         cycles_of(s, with_smaller_strides(window), epilogue) < cycles_of_lines(s, window, epilogue);
}

Result<void> emit_with_smaller_strides(Selection& s, const Window& window, const Epilogue& epilogue) {
  Window small = with_smaller_strides(window);
  View results = s.new_tensor("all", small.ofm.shape(), epilogue.type);
  small.ofm = results;
  CARINA_CHECKED(emit_window(s, small, epilogue));
  for (const size_t axis : {kH, kW}) {
    const int64_t outputs = size(window.ofm, axis);
    if (has_large_stride(window, axis))
      results = stepped_axis(results, axis, 0, (size(results, axis) - 1) / (outputs - 1), outputs);
  }
  emit_copy(s, window.ofm, results, epilogue.type);
  return {};
}

// Unrolls a stride that the NPU does not support. For single taps, the input view has the stride. Otherwise each output
// line is an operation.
Result<bool> unroll_stride(Selection& s, const Window& window, size_t axis, const Epilogue& epilogue) {
  const int64_t stride = axis == kH ? window.kernel.stride_y : window.kernel.stride_x;
  const int64_t outputs = size(window.ofm, axis);
  const int64_t extent = axis == kH ? window.kernel.extent_h() : window.kernel.extent_w();
  const bool padded =
      axis == kH ? window.padding.top + window.padding.bottom > 0 : window.padding.left + window.padding.right > 0;
  if (stride == 1 || (stride <= npu::kMaxStride && !(outputs == 1 && !padded))) return false;
  if (extent == 1 && !padded) {
    Window stepped = window;
    stepped.ifm.view = stepped_axis(window.ifm.view, axis, 0, stride, outputs);
    (axis == kH ? stepped.kernel.stride_y : stepped.kernel.stride_x) = 1;
    CARINA_CHECKED(emit_window(s, stepped, epilogue));
    return true;
  }
  if (outputs > kMaxUnrolled) {
    return s.reject("the stride is too large to be unrolled", fmt::format("at most {}", npu::kMaxStride),
                    std::to_string(stride));
  }
  for (int64_t i = 0; i < outputs && !s.is_full(); ++i)
    CARINA_CHECKED(emit_window(s, one_line(window, axis, i), epilogue));
  return true;
}

Result<void> check_kernel(Selection& s, const Window& window) {
  const bool pool = window.kind == StepKind::kPool;
  const int64_t max_height = pool ? npu::kMaxPoolHeight : npu::kMaxKernelHeight;
  const int64_t max_taps = pool ? npu::kMaxPoolElements : npu::kMaxKernelElements;
  const Kernel& k = window.kernel;
  if (k.extent_h() > max_height || k.extent_h() * k.extent_w() > max_taps) {
    return s.reject("the kernel is too large for the NPU",
                    fmt::format("height at most {}, height * width at most {}", max_height, max_taps),
                    fmt::format("{}x{}", k.extent_h(), k.extent_w()));
  }
  for (const View* view : {&window.ifm.view, &window.ofm}) {
    for (const size_t axis : {kH, kW, kC}) {
      if (size(*view, axis) > npu::kMaxAxis) {
        return s.reject("an axis is too long for the NPU", fmt::format("at most {}", npu::kMaxAxis),
                        std::to_string(size(*view, axis)));
      }
    }
  }
  return {};
}

}  // namespace

FeatureMap image_map(const View& image, ElementType type, int64_t zero_point) {
  const size_t rank = image.rank();
  CARINA_CHECK(rank >= 3, "an image of {} axes", rank);
  const Axis &y = image.axes[rank - 3], &x = image.axes[rank - 2], &c = image.axes[rank - 1];
  return {.tensor = image.tensor,
          .offset = image.offset,
          .height = y.size,
          .width = x.size,
          .depth = c.size,
          .stride_y = y.stride,
          .stride_x = x.stride,
          .stride_c = c.size > 1 ? c.stride : 1,
          .type = type,
          .zero_point = zero_point};
}

bool is_writable(const Selection& s, const View& results) {
  const Axis& channels = results.axes.back();
  if (channels.size == 1 || channels.stride == 1) return true;
  const auto is_contiguous = [](const Axis& axis) { return axis.size > 1 && axis.stride == 1; };
  return s.transposes_results() && std::ranges::any_of(std::span(results.axes).last(3).first(2), is_contiguous);
}

Result<void> emit_window(Selection& s, const Window& asked, const Epilogue& epilogue) {
  Window window = asked;
  if (!is_writable(s, asked.ofm)) {  // like a part of a transposed CONCAT
    window.ofm = s.new_tensor("dense", asked.ofm.shape(), epilogue.type);
    CARINA_CHECKED(emit_window(s, window, epilogue));
    emit_copy(s, asked.ofm, window.ofm, epilogue.type);
    return {};
  }
  window.ifm = with_dense_channels(s, window.ifm);
  if (!flatten_pixels(window) && size(window.ofm, kN) > 1) {
    for (int64_t n = 0; n < size(asked.ofm, kN) && !s.is_full(); ++n) {
      Window one = window;
      one.ifm.view = sliced_axis(window.ifm.view, kN, n, 1);
      one.ofm = sliced_axis(window.ofm, kN, n, 1);
      CARINA_CHECKED(emit_window(s, one, epilogue));
    }
    return {};
  }
  if (smaller_strides_pay(s, window, epilogue)) return emit_with_smaller_strides(s, window, epilogue);
  for (const size_t axis : {kH, kW}) {
    CARINA_TRY(const bool done, unroll_stride(s, window, axis, epilogue));
    if (done) return {};
  }
  if (lay_column_down(window)) lay_weights_down(s, window.weights);
  CARINA_CHECKED(check_kernel(s, window));
  push_window(s, window, epilogue);
  return {};
}

double cycles_of(const Selection& s, Window pool, const Epilogue& epilogue) {
  constexpr double kOperationCycles = 100;  // estimate(100): what an operation waits for the one before it
  if (has_large_stride(pool, kH) || has_large_stride(pool, kW))
    return std::min(cycles_of_lines(s, pool, epilogue), cycles_of(s, with_smaller_strides(pool), epilogue));
  const int64_t images = size(pool.ofm, kN);
  lay_column_down(pool);
  const Kernel& k = pool.kernel;
  if (k.height > npu::kMaxPoolHeight || k.taps() > npu::kMaxPoolElements) return std::numeric_limits<double>::max();
  return static_cast<double>(images) * (kOperationCycles + cycles_of(s, step_of(pool, epilogue)));
}

}  // namespace carina::plan
