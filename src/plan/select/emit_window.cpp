#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"

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

void push_window(Selection& s, const Window& window, const Epilogue& epilogue) {
  const bool has_weights = window.kind != StepKind::kPool;
  // Sums of 16-bit products may need more than 32 bits before they are scaled.
  const bool wide = has_weights && window.ifm.type.bits == 16 && !epilogue.sums_fit_32 &&
                    (epilogue.scaled || epilogue.type.bits == 64);
  if (wide) s.network().material.weights[window.weights.index()].acc = AccWidth::kWide;
  s.push({.kind = window.kind,
          .pool = window.pool,
          .ofm = image_map(window.ofm, epilogue.type, epilogue.zero_point),
          .ifm = image_map(window.ifm.view, window.ifm.type, window.ifm.zero_point),
          .kernel = window.kernel,
          .padding = window.padding,
          .upscale = window.upscale,
          .inserts_zeros = window.inserts_zeros,
          .weights = window.weights,
          .sparse_weights = window.kind == StepKind::kConv && s.has_sparse_weights(window.weights),
          .per_channel = has_weights,
          .scaling = has_weights ? epilogue.scaling() : simplified(epilogue.scaling()),
          .activation = epilogue.activation,
          .acc = wide ? AccWidth::kWide : AccWidth::kNarrow,
          .name = {}});
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

// Processes a column as a row, because blocks are wider than high.
void lay_column_down(Selection& s, Window& window) {
  // Lines of one convolution share its weights, so a line of one pixel is laid down like the others.
  const bool column = size(window.ifm.view, kW) == 1 && size(window.ofm, kW) == 1 && window.kernel.width == 1 &&
                      window.padding.left == 0 && window.padding.right == 0;
  // Pool kernels may be wider than they may be high on the NPU, not the reverse. Convolutions are limited in height
  // too.
  if (!column) return;
  for (View* view : {&window.ifm.view, &window.ofm}) std::swap(view->axes[kH], view->axes[kW]);
  Kernel& k = window.kernel;
  std::swap(k.height, k.width);
  std::swap(k.stride_y, k.stride_x);
  std::swap(k.dilation_y, k.dilation_x);
  window.padding = {.top = 0, .bottom = 0, .left = window.padding.top, .right = window.padding.bottom};
  if (!window.weights.valid()) return;
  Weights& weights = s.network().material.weights[window.weights.index()];
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
  for (const size_t axis : {kH, kW}) {
    CARINA_TRY(const bool done, unroll_stride(s, window, axis, epilogue));
    if (done) return {};
  }
  lay_column_down(s, window);
  CARINA_CHECKED(check_kernel(s, window));
  push_window(s, window, epilogue);
  return {};
}

}  // namespace carina::plan
