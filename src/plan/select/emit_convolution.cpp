#include <fmt/format.h>

#include <algorithm>

#include "facts/npu_targets.h"
#include "plan/select/convolution_internal.h"
#include "plan/select/emit_internal.h"
#include "plan/select/weights_internal.h"

// Emits convolutions. Padding that the NPU does not support is written to memory. Unsupported dilations become zeros
// between the taps. A kernel that is too large is divided into kernels whose sums are added.
namespace carina::plan {

namespace {

bool fits_kernel_limits(int64_t rows, int64_t columns) {
  return rows <= npu::kMaxKernelHeight && rows * columns <= npu::kMaxKernelElements;
}

// Weights [O,KH,KW,C] become [O,KW,KH,C].
std::vector<int16_t> turned_weights(const std::vector<int16_t>& weights, const Shape& shape) {
  std::vector<int16_t> turned;
  turned.reserve(weights.size());
  for (int64_t o = 0; o < shape[0]; ++o) {
    for (int64_t x = 0; x < shape[2]; ++x) {
      for (int64_t y = 0; y < shape[1]; ++y) {
        const auto from = weights.begin() + ((o * shape[1] + y) * shape[2] + x) * shape[3];
        turned.insert(turned.end(), from, from + shape[3]);
      }
    }
  }
  return turned;
}

}  // namespace

View oriented(const Convolution& c, View view) {
  if (c.turned) std::swap(view.axes[1], view.axes[2]);
  return view;
}

void lay_tall_kernel_down(Convolution& c) {
  Kernel& k = c.kernel;
  Padding& p = c.padding;
  const bool column = k.height > 1 && k.width == 1 && c.ifm.view.axes[2].size == 1 && p.left + p.right == 0;
  if (!column && (k.extent_h() <= npu::kMaxKernelHeight || !fits_kernel_limits(k.extent_w(), k.extent_h()))) return;
  c.turned = true;
  c.ifm.view = oriented(c, c.ifm.view);
  if (k.height > 1 && k.width > 1) c.weights = turned_weights(c.weights.widened(), c.weight_shape);
  std::swap(c.weight_shape[1], c.weight_shape[2]);
  std::swap(k.height, k.width);
  std::swap(k.stride_y, k.stride_x);
  std::swap(k.dilation_y, k.dilation_x);
  std::swap(p.top, p.left);
  std::swap(p.bottom, p.right);
}

void pad_in_memory(Selection& s, Convolution& c) {
  const Padding p = c.padding;
  if (p == Padding{}) return;
  const Operand source{.view = c.ifm.view, .type = c.ifm.type};
  const Shape shape = c.ifm.view.shape();
  const View padded = s.new_tensor(
      "padded", {shape[0], shape[1] + p.top + p.bottom, shape[2] + p.left + p.right, shape[3]}, c.ifm.type);
  emit_pad(s, padded,
           {.source = source,
            .before = {0, p.top, p.left, 0},
            .after = {0, p.bottom, p.right, 0},
            .fill = c.ifm.zero_point});
  c.ifm.view = padded;
  c.padding = {};
}

Result<WeightValues> read_weights(Selection& s) {
  CARINA_TRY(const int64_t zero_point, s.constant_scalar(s.input(4), "weight zero point"));
  const ir::Value& given = s.value(s.input(1));
  if (zero_point == 0 && given.dtype == DType::kInt8 && given.constant) return WeightValues(*given.constant);
  CARINA_TRY(const std::vector<int64_t> values, s.constant(s.input(1), "weights"));
  std::vector<int16_t> weights(values.size());
  std::ranges::transform(values, weights.begin(), [&](int64_t w) { return static_cast<int16_t>(w - zero_point); });
  return weights;
}

Result<void> check_convolution_types(Selection& s) {
  const DType type = s.value(s.input(0)).dtype;
  if (type != DType::kInt8 && type != DType::kInt16)
    return s.reject("the input type is not supported", "int8 or int16", std::string(name_of(type)));
  const DType weight = s.value(s.input(1)).dtype;
  if (weight != DType::kInt8 && weight != DType::kInt4)
    return s.reject("the weight type is not supported", "int8 or int4", std::string(name_of(weight)));
  return {};
}

bool fits_padding_limits(const Padding& p) {
  return std::max(p.top, p.left) <= npu::kMaxPadBefore && std::max(p.bottom, p.right) <= npu::kMaxPadBehind;
}

bool needs_padding_in_memory(const Convolution& c) {
  const Padding& p = c.padding;
  return std::max(p.top, p.bottom) >= c.kernel.extent_h() || std::max(p.left, p.right) >= c.kernel.extent_w() ||
         !fits_padding_limits(p);
}

Steps steps_of(int64_t taps, int64_t dilation) {
  if (taps == 1) return {};
  const int64_t native = dilation % npu::kMaxDilation == 0 ? npu::kMaxDilation : 1;
  return {.native = native, .step = dilation / native};
}

Result<WeightsId> weights_of(Selection& s, Convolution& c, const std::vector<int64_t>& biases,
                             const Epilogue& epilogue) {
  return add_weights(s,
                     {.name = {},
                      .out_channels = c.weight_shape[0],
                      .height = c.kernel.height,
                      .width = c.kernel.width,
                      .in_channels = c.weight_shape[3],
                      .values = std::move(c.weights),
                      .biases = biases},
                     epilogue);
}

Result<void> emit_with(Selection& s, StepKind kind, const Convolution& c, WeightsId weights, const View& out,
                       const Epilogue& epilogue) {
  return emit_window(
      s, {.kind = kind, .ifm = c.ifm, .ofm = out, .kernel = c.kernel, .padding = c.padding, .weights = weights},
      epilogue);
}

namespace {

// Replaces unsupported dilations by zeros between the taps.
void dilate_taps(Convolution& c) {
  Kernel& k = c.kernel;
  const int64_t outer = c.weight_shape[0], inner = c.weight_shape[3];
  const auto [native_y, step_y] = steps_of(k.height, k.dilation_y);
  const auto [native_x, step_x] = steps_of(k.width, k.dilation_x);
  const int64_t height = (k.height - 1) * step_y + 1, width = (k.width - 1) * step_x + 1;
  if (step_y != 1 || step_x != 1) {
    const std::vector<int16_t> weights = c.weights.widened();
    std::vector<int16_t> dilated(static_cast<size_t>(outer * height * width * inner), 0);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t y = 0; y < k.height; ++y) {
        for (int64_t x = 0; x < k.width; ++x) {
          const auto* from = &weights[static_cast<size_t>(((o * k.height + y) * k.width + x) * inner)];
          std::copy_n(from, inner,
                      &dilated[static_cast<size_t>(((o * height + y * step_y) * width + x * step_x) * inner)]);
        }
      }
    }
    c.weights = dilated;
  }
  k.dilation_y = native_y;
  k.dilation_x = native_x;
  k.height = height;
  k.width = width;
  c.weight_shape = {outer, height, width, inner};
}

// Emits one operation, whose kernel is within the NPU's limits.
Result<void> emit_whole(Selection& s, StepKind kind, Convolution c, const std::vector<int64_t>& biases, const View& out,
                        const Epilogue& epilogue) {
  dilate_taps(c);
  CARINA_TRY(const WeightsId weights, weights_of(s, c, biases, epilogue));
  return emit_with(s, kind, c, weights, out, epilogue);
}

// Taps [first, first + count) of both axes.
struct Taps {
  int64_t y = 0;
  int64_t x = 0;
  int64_t height = 1;
  int64_t width = 1;
};

std::vector<Taps> subkernels_of(const Kernel& k) {
  const auto fit = [](int64_t taps, int64_t dilation, int64_t extent) {
    return std::min(taps, (extent - 1) / dilation + 1);
  };
  const int64_t width = fit(k.width, k.dilation_x, npu::kMaxKernelElements);
  const int64_t columns = (width - 1) * k.dilation_x + 1;
  const int64_t height =
      fit(k.height, k.dilation_y, std::min<int64_t>(npu::kMaxKernelHeight, npu::kMaxKernelElements / columns));
  std::vector<Taps> subkernels;
  for (int64_t y = 0; y < k.height; y += height) {
    for (int64_t x = 0; x < k.width; x += width)
      subkernels.push_back(
          {.y = y, .x = x, .height = std::min(height, k.height - y), .width = std::min(width, k.width - x)});
  }
  return subkernels;
}

// The convolution with some of the taps, on the part of the input that they read. It has no padding.
Convolution subkernel_of(const Convolution& whole, const Taps& taps, const Shape& out) {
  Convolution c = whole;
  const Kernel& k = whole.kernel;
  c.kernel.height = taps.height;
  c.kernel.width = taps.width;
  const auto seen = [](int64_t outputs, int64_t stride, int64_t extent) { return (outputs - 1) * stride + extent; };
  c.ifm.view = sliced_axis(whole.ifm.view, 1, taps.y * k.dilation_y, seen(out[1], k.stride_y, c.kernel.extent_h()));
  c.ifm.view = sliced_axis(c.ifm.view, 2, taps.x * k.dilation_x, seen(out[2], k.stride_x, c.kernel.extent_w()));
  const int64_t outer = whole.weight_shape[0], inner = whole.weight_shape[3];
  const std::vector<int16_t> all = whole.weights.widened();
  std::vector<int16_t> some;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t y = taps.y; y < taps.y + taps.height; ++y) {
      const auto row = all.begin() + ((o * k.height + y) * k.width + taps.x) * inner;
      some.insert(some.end(), row, row + taps.width * inner);
    }
  }
  c.weights = some;
  c.weight_shape = {outer, taps.height, taps.width, inner};
  return c;
}

// Emits the sub-kernels, adds their sums, and then scales.
Result<void> emit_subkernels(Selection& s, StepKind kind, const Convolution& whole, const std::vector<int64_t>& biases,
                             const View& out, const Epilogue& epilogue) {
  const Kernel& k = whole.kernel;
  if (whole.ifm.type.bits > 8) {
    return s.reject(
        "the kernel is too large for the NPU, and its sums for 32 bits",
        fmt::format("height at most {}, height * width at most {}", npu::kMaxKernelHeight, npu::kMaxKernelElements),
        fmt::format("{}x{}", k.extent_h(), k.extent_w()));
  }
  const Epilogue store = store_only({}, kSigned32);
  const std::vector<Taps> subkernels = subkernels_of(k);
  const std::vector<int64_t> none(biases.size(), 0);
  Operand sum;
  for (size_t i = 0; i < subkernels.size(); ++i) {
    const Operand part{.view = s.new_tensor("part of the sum", out.shape(), kSigned32), .type = kSigned32};
    CARINA_CHECKED(
        emit_whole(s, kind, subkernel_of(whole, subkernels[i], out.shape()), i == 0 ? biases : none, part.view, store));
    const Elementwise added{.mode = npu::ElementwiseMode::ADD, .a = sum, .b = part, .operands = {}};
    if (i + 1 == subkernels.size() && !epilogue.scaled) {
      emit_elementwise(s, out, added, epilogue);
      return {};
    }
    sum = i == 0 ? part : emit_temporary(s, "sum", added, store);
  }
  emit_scale_32(s, out, sum.view, epilogue);
  return {};
}

}  // namespace

Result<void> emit_convolution(Selection& s, StepKind kind, Convolution c, const std::vector<int64_t>& biases,
                              const View& out, const Epilogue& epilogue) {
  CARINA_TRY(const bool done, emit_by_phases(s, kind, c, biases, out, epilogue));
  if (done) return {};
  if (fits_kernel_limits(c.kernel.extent_h(), c.kernel.extent_w())) {
    if (needs_padding_in_memory(c)) pad_in_memory(s, c);
    return emit_whole(s, kind, std::move(c), biases, out, epilogue);
  }
  pad_in_memory(s, c);
  return emit_subkernels(s, kind, c, biases, out, epilogue);
}

}  // namespace carina::plan
