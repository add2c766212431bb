#include <fmt/format.h>

#include <array>

#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"
#include "plan/select/weights_internal.h"

// Products of two tensors that are computed at run time, for NPUs that take weights from a feature map: MATMUL, and
// CONV2D with weights that are not constant.
namespace carina::plan {
namespace {

// One matrix product: rows [M,K] times pixels [O,K].
struct Gemm {
  Operand rows;
  Operand weights;
  View result;            // [M,O]
  WeightsId scales = {};  // a bias and a scale per channel
};

// The rows of a matrix as the pixels of one row.
View pixel_row(const View& matrix) {
  const Axis& rows = matrix.axes[0];
  return {.tensor = matrix.tensor,
          .offset = matrix.offset,
          .axes = {{.size = 1, .stride = rows.stride * rows.size}, rows, matrix.axes[1]}};
}

FeatureMap matrix_map(const Operand& matrix) {
  return image_map(pixel_row(matrix.view), matrix.type, matrix.zero_point);
}

void push_gemm(Selection& s, const Gemm& p, const Epilogue& epilogue) {
  s.push({.kind = StepKind::kConv,
          .ofm = image_map(pixel_row(p.result), epilogue.type, epilogue.zero_point),
          .ifm = matrix_map(p.rows),
          .second = SecondOperand::kFeatureMap,
          .ifm2 = matrix_map(p.weights),
          .weights = p.scales,
          .per_channel = p.scales.valid(),
          .scaling = p.scales.valid() ? epilogue.scaling() : simplified(epilogue.scaling()),
          .activation = epilogue.activation,
          .acc = p.rows.type.bits == 16 ? AccWidth::kWide : AccWidth::kNarrow,
          .multiplies_second = true,
          .name = {}});
}

// The view to which products [...,M,O] are written: `asked` if the NPU can write it, otherwise a new tensor.
View writable(Selection& s, const View& asked, ElementType type) {
  View matrix = asked;
  while (matrix.rank() > 2) matrix = at(matrix, 0);
  return is_writable(s, pixel_row(matrix)) ? asked : s.new_tensor("dense", asked.shape(), type);
}

Result<void> check_sizes(Selection& s, std::initializer_list<int64_t> sizes) {
  for (const int64_t size : sizes) {
    if (size > npu::kMaxAxis)
      return s.reject("an axis is too long for the NPU", fmt::format("at most {}", npu::kMaxAxis),
                      std::to_string(size));
  }
  return {};
}

ElementType sum_type(Selection& s) {
  return *element_type_of(s.value(s.output()).dtype);
}

}  // namespace

Result<void> select_gemm(Selection& s) {
  const ElementType type = *element_type_of(s.value(s.input(0)).dtype);
  if (s.value(s.input(1)).constant && type.bits == 8) return select_matmul(s);
  Operand a = s.with_channels(s.input(0)), b = s.plain(s.input(1));
  CARINA_TRY(a.zero_point, s.constant_scalar(s.input(2), "first zero point"));
  CARINA_TRY(b.zero_point, s.constant_scalar(s.input(3), "second zero point"));
  CARINA_CHECKED(check_sizes(s, {a.view.axes[1].size, a.view.axes[2].size, b.view.axes[2].size}));
  b.view = permuted(b.view, std::array<int64_t, 3>{0, 2, 1});
  b = with_dense_channels(s, b);
  const Epilogue epilogue = s.follow(s.output(), sum_type(s), {.scale = EpilogueRules::Scale::kGlobal});
  const View out = s.open(epilogue.value, s.shape(s.output())), written = writable(s, out, epilogue.type);
  for (int64_t n = 0; n < out.axes[0].size && !s.is_full(); ++n) {
    Gemm gemm{.rows = a, .weights = b, .result = at(written, n)};
    gemm.rows.view = at(a.view, n);
    gemm.weights.view = at(b.view, n);
    push_gemm(s, gemm, epilogue);
  }
  if (written != out) emit_copy(s, out, written, epilogue.type);
  s.close(epilogue.value, out, epilogue.type);
  return {};
}

namespace {

struct Patches {
  Kernel kernel;
  Padding padding;
};
Patches read_window(Selection& s, const Shape& weights) {
  const auto& pad = s.node().attributes.integers("pad");
  const auto& stride = s.node().attributes.integers("stride");
  const auto& dilation = s.node().attributes.integers("dilation");
  return {.kernel = {.height = weights[1],
                     .width = weights[2],
                     .stride_y = stride[0],
                     .stride_x = stride[1],
                     .dilation_y = dilation[0],
                     .dilation_x = dilation[1]},
          .padding = {.top = pad[0], .bottom = pad[1], .left = pad[2], .right = pad[3]}};
}

// The input with its padding written to memory.
Operand padded(Selection& s, const Operand& x, const Padding& p) {
  if (p == Padding{}) return x;
  const Shape shape = x.view.shape();
  Operand result = x;
  result.view =
      s.new_tensor("padded", {shape[0], shape[1] + p.top + p.bottom, shape[2] + p.left + p.right, shape[3]}, x.type);
  emit_pad(s, result.view,
           {.source = {.view = x.view, .type = x.type},
            .before = {0, p.top, p.left, 0},
            .after = {0, p.bottom, p.right, 0},
            .fill = x.zero_point});
  return result;
}

// The elements under each window, contiguous: [N,OH,OW,KH*KW*C].
Operand windows_of(Selection& s, const Operand& asked, const Patches& w, const Shape& out) {
  const Kernel& k = w.kernel;
  if (k == Kernel{} && w.padding == Padding{}) return with_dense_channels(s, asked);
  const Operand x = padded(s, asked, w.padding);
  const int64_t channels = x.view.axes[3].size;
  Operand result = x;
  result.view = s.new_tensor("windows", {out[0], out[1], out[2], k.taps() * channels}, x.type);
  for (int64_t ky = 0; ky < k.height; ++ky) {
    for (int64_t kx = 0; kx < k.width; ++kx) {
      const View tap = stepped_axis(stepped_axis(x.view, 1, ky * k.dilation_y, k.stride_y, out[1]), 2,
                                    kx * k.dilation_x, k.stride_x, out[2]);
      emit_copy(s, sliced_axis(result.view, 3, (ky * k.width + kx) * channels, channels), tap, x.type);
    }
  }
  return result;
}

}  // namespace

Result<void> select_convolution_by_tensor(Selection& s) {
  if (s.value(s.input(1)).constant) return select_convolution(s);
  const Shape shape = s.shape(s.input(1)), out_shape = s.shape(s.output());
  Operand x = s.plain(s.input(0)), weights = s.plain(s.input(1));
  if (x.type != weights.type)
    return s.reject("weights that are no constant need the input's type",
                    std::string(name_of(s.value(s.input(0)).dtype)), std::string(name_of(s.value(s.input(1)).dtype)));
  CARINA_TRY(x.zero_point, s.constant_scalar(s.input(3), "input zero point"));
  CARINA_TRY(weights.zero_point, s.constant_scalar(s.input(4), "weight zero point"));
  CARINA_TRY(std::vector<int64_t> biases, biases_of(s, s.input(2), shape[0]));
  const int64_t depth = shape[1] * shape[2] * shape[3], rows = out_shape[0] * out_shape[1] * out_shape[2];
  CARINA_CHECKED(check_sizes(s, {depth, shape[0], rows}));
  x = with_shape(s, windows_of(s, x, read_window(s, shape), out_shape), {rows, depth});
  x = with_dense_channels(s, x);
  weights = with_dense_channels(s, with_shape(s, weights, {shape[0], depth}));
  const Epilogue epilogue = s.follow(s.output(), sum_type(s), {.scale = EpilogueRules::Scale::kAny});
  const AccWidth acc = x.type.bits == 16 ? AccWidth::kWide : AccWidth::kNarrow;
  CARINA_TRY(const WeightsId scales,
             add_weights(s, {.name = {}, .out_channels = shape[0], .biases = std::move(biases), .acc = acc}, epilogue));
  const View out = s.open(epilogue.value, {rows, shape[0]}), written = writable(s, out, epilogue.type);
  push_gemm(s, {.rows = x, .weights = weights, .result = written, .scales = scales}, epilogue);
  if (written != out) emit_copy(s, out, written, epilogue.type);
  s.close(epilogue.value, out, epilogue.type);
  return {};
}

}  // namespace carina::plan
