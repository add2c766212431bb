#include <algorithm>
#include <utility>

#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"
#include "tensor/fixed_point.h"

// MAX_POOL2D and AVG_POOL2D, with the CLAMP and TABLE that follow.
namespace carina::plan {
namespace {

Result<Window> read_pool(Selection& s, npu::PoolingMode mode) {
  const ir::Attributes& attributes = s.node().attributes;
  const auto& kernel = attributes.integers("kernel");
  const auto& stride = attributes.integers("stride");
  const auto& pad = attributes.integers("pad");
  Window window{.kind = StepKind::kPool,
                .pool = mode,
                .ifm = s.with_channels(s.input(0)),
                .kernel = {.height = kernel[0], .width = kernel[1], .stride_y = stride[0], .stride_x = stride[1]},
                .padding = {.top = pad[0], .bottom = pad[1], .left = pad[2], .right = pad[3]}};
  if (window.ifm.type.bits > 16)
    return s.reject("the type is not supported", "int8 or int16", std::string(name_of(s.value(s.input(0)).dtype)));
  return window;
}

Result<void> finish(Selection& s, Window& window, const Epilogue& epilogue) {
  window.ofm = s.open(epilogue.value, s.shape(s.output()));
  const bool divides = window.pool == npu::PoolingMode::AVERAGE && window.padding != Padding{};
  CARINA_CHECKED(divides ? emit_window(s, window, epilogue) : emit_pool(s, window, epilogue));
  s.close(epilogue.value, window.ofm, epilogue.type);
  return {};
}

}  // namespace

namespace {

// Whether an axis has a stride that the NPU does not support, and fewer taps than outputs. Otherwise one operation for
// each output (emit_window.cpp) is cheaper than one for each tap.
bool computes_by_taps(int64_t stride, int64_t taps, int64_t outputs) {
  return stride > npu::kMaxStride && taps > 1 && outputs > taps;
}

// Computes such an axis: each tap is an operand with a strided view of the input.
void largest_by_taps(Selection& s, Window& window, size_t axis, int64_t outputs) {
  int64_t& stride = axis == 1 ? window.kernel.stride_y : window.kernel.stride_x;
  int64_t& taps = axis == 1 ? window.kernel.height : window.kernel.width;
  if (!computes_by_taps(stride, taps, outputs)) return;
  const auto tap = [&](int64_t i) {
    Operand operand = window.ifm;
    operand.view = stepped_axis(window.ifm.view, axis, i, stride, outputs);
    return operand;
  };
  Operand largest = tap(0);
  for (int64_t i = 1; i < taps; ++i) {
    largest =
        emit_temporary(s, "largest", {.mode = npu::ElementwiseMode::MAX, .a = largest, .b = tap(i), .operands = {}},
                       store_only({}, window.ifm.type));
  }
  window.ifm = largest;
  stride = taps = 1;
}

// Writes padding to memory, with the lowest value.
void pad_with_min(Selection& s, Window& window) {
  const Padding p = std::exchange(window.padding, Padding{});
  if (p == Padding{}) return;
  const Shape shape = window.ifm.view.shape();
  const View padded = s.new_tensor(
      "padded", {shape[0], shape[1] + p.top + p.bottom, shape[2] + p.left + p.right, shape[3]}, window.ifm.type);
  emit_pad(s, padded,
           {.source = window.ifm,
            .before = {0, p.top, p.left, 0},
            .after = {0, p.bottom, p.right, 0},
            .fill = window.ifm.type.min()});
  window.ifm.view = padded;
}

}  // namespace

Result<void> select_max_pool(Selection& s) {
  CARINA_TRY(Window window, read_pool(s, npu::PoolingMode::MAX));
  const Shape& out = s.shape(s.output());
  const Kernel k = window.kernel;
  // Windows side by side are two pools (select/separated.cpp).
  const bool side_by_side = k.stride_y == k.height && k.stride_x == k.width && window.padding == Padding{} &&
                            is_dense(window.ifm.view) && may_separate_pools(s);
  if (!side_by_side &&
      (computes_by_taps(k.stride_y, k.height, out[1]) || computes_by_taps(k.stride_x, k.width, out[2]))) {
    pad_with_min(s, window);
    for (const size_t axis : {size_t{2}, size_t{1}}) largest_by_taps(s, window, axis, out[static_cast<int64_t>(axis)]);
  }
  if (!fits_padding_limits(window.padding)) pad_with_min(s, window);
  return finish(s, window, s.follow(s.output(), window.ifm.type, {}));
}

namespace {

void scale_by_count(Epilogue& epilogue, const Kernel& kernel) {
  if (kernel.taps() == 1) return;
  epilogue.factors = {reciprocal_scale(static_cast<uint32_t>(kernel.taps()))};
}

// Consecutive outputs along an axis whose windows have the same number of elements inside the input.
struct Inside {
  int64_t first_output = 0;
  int64_t outputs = 1;
  int64_t first_input = 0;
  int64_t size = 1;
};
std::vector<Inside> inside_of(int64_t inputs, int64_t outputs, int64_t kernel, int64_t stride, int64_t before) {
  std::vector<Inside> runs;
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t start = std::max<int64_t>(o * stride - before, 0);
    const int64_t size = std::min(o * stride - before + kernel, inputs) - start;
    const bool continues =
        !runs.empty() && runs.back().size == size && start == runs.back().first_input + runs.back().outputs * stride;
    if (continues)
      ++runs.back().outputs;
    else
      runs.push_back({.first_output = o, .first_input = start, .size = size});
  }
  return runs;
}

// The part of a window's outputs that lie in two runs: unpadded, and so divided by one number of elements.
Window part_inside(const Window& whole, const Inside& y, const Inside& x) {
  Window part = whole;
  part.padding = {};
  part.kernel.height = y.size;
  part.kernel.width = x.size;
  const auto cut = [](View view, size_t axis, const Inside& run, int64_t stride) {
    return sliced_axis(std::move(view), axis, run.first_input, (run.outputs - 1) * stride + run.size);
  };
  part.ifm.view = cut(cut(whole.ifm.view, 1, y, whole.kernel.stride_y), 2, x, whole.kernel.stride_x);
  part.ofm = sliced_axis(sliced_axis(whole.ofm, 1, y.first_output, y.outputs), 2, x.first_output, x.outputs);
  return part;
}

// Averages over windows whose elements the NPU does not count.
Result<void> average_by_parts(Selection& s, Window& window, const Epilogue& epilogue) {
  const Shape in = window.ifm.view.shape(), out = s.shape(s.output());
  const Kernel& k = window.kernel;
  window.ofm = s.open(epilogue.value, out);
  for (const Inside& y : inside_of(in[1], out[1], k.height, k.stride_y, window.padding.top)) {
    for (const Inside& x : inside_of(in[2], out[2], k.width, k.stride_x, window.padding.left)) {
      const Window part = part_inside(window, y, x);
      Epilogue scaled = epilogue;
      scale_by_count(scaled, part.kernel);
      CARINA_CHECKED(emit_window(s, part, scaled));
    }
  }
  s.close(epilogue.value, window.ofm, epilogue.type);
  return {};
}

}  // namespace

Result<void> select_average_pool(Selection& s) {
  CARINA_TRY(Window window, read_pool(s, npu::PoolingMode::AVERAGE));
  CARINA_TRY(window.ifm.zero_point, s.constant_scalar(s.input(1), "input zero point"));
  CARINA_TRY(const int64_t output_zp, s.constant_scalar(s.input(2), "output zero point"));
  const bool padded = window.padding != Padding{};
  const bool large = std::max(window.kernel.height, window.kernel.width) > npu::kMaxPaddedAveragePoolSize;
  Epilogue epilogue = s.follow(s.output(), window.ifm.type, {});
  epilogue.zero_point = output_zp;
  if (padded && large) return average_by_parts(s, window, epilogue);
  // With padding the NPU itself divides by the number of elements inside; without, it multiplies as TOSA does.
  if (!padded) scale_by_count(epilogue, window.kernel);
  return finish(s, window, epilogue);
}

}  // namespace carina::plan
