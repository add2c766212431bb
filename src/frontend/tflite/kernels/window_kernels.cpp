#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "frontend/tflite/axis_padding.h"
#include "frontend/tflite/kernels/float_activation_internal.h"
#include "frontend/tflite/kernels/hybrid_internal.h"
#include "frontend/tflite/kernels/kernel_call_internal.h"

// Kernels with a window over floats: CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV, AVERAGE_POOL_2D and MAX_POOL_2D. Sums
// are in the order of LiteRT's reference kernels: rows, columns, channels of the window.
//
// The weights of CONV_2D may be int8 ("hybrid"). The input is then quantized too, each image by itself: with a zero
// point if the weights have a scale per channel, otherwise symmetrically. Sums are integers, which are scaled to
// floats.
namespace carina::tflite {

namespace {

constexpr std::array kImageTypes{DType::kFp32};
constexpr std::array kWeightTypes{DType::kFp32, DType::kInt8};
constexpr size_t kN = 0, kH = 1, kW = 2, kC = 3;

// One axis of the window: positions of taps in the input.
struct WindowAxis {
  int64_t size = 1;  // of the input
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  // padding

  [[nodiscard]] int64_t extent() const { return (kernel - 1) * dilation + 1; }
  [[nodiscard]] int64_t results(Padding padding) const {
    return padding == Padding::kSame ? (size + stride - 1) / stride : (size - extent() + stride) / stride;
  }
  [[nodiscard]] bool is_valid() const {
    constexpr int64_t kMax = 1 << 20;
    const auto fits = [](int64_t n) { return n >= 1 && n <= kMax; };
    return fits(size) && fits(kernel) && fits(stride) && fits(dilation);
  }
  // Calls visit(tap, position) for the taps of a result that are inside the input.
  template <typename Visit>
  void each_tap(int64_t result, const Visit& visit) const {
    for (int64_t tap = 0; tap < kernel; ++tap) {
      const int64_t at = result * stride - before + tap * dilation;
      if (at >= 0 && at < size) visit(tap, at);
    }
  }
};

struct WindowAxes {
  WindowAxis y, x;
};

WindowAxes window_of(const KernelCall& call, int64_t height, int64_t width) {
  const auto& o = call.op().options;
  WindowAxes axes{.y = {.size = call.in(0).shape[kH], .kernel = height, .stride = o.stride_h, .dilation = o.dilation_h},
                  .x = {.size = call.in(0).shape[kW], .kernel = width, .stride = o.stride_w, .dilation = o.dilation_w}};
  if (o.padding != Padding::kSame) return axes;
  for (WindowAxis* axis : {&axes.y, &axes.x}) {
    if (axis->is_valid()) axis->before = same_padding(axis->size, axis->extent(), axis->stride).before;
  }
  return axes;
}

Result<void> check_images(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(call.need_type(where, 0, kImageTypes));
  CARINA_CHECKED(call.need_result(where, kImageTypes));
  CARINA_CHECKED(need_float_activation(call, where));
  if (call.in(0).shape.rank() == 4 && call.out().shape.rank() == 4) return {};
  return call.reject(where, "input or result is not NHWC", {}, to_string(call.in(0).shape));
}

// Checks that the window gives a result of the declared shape.
Result<void> check_window(const KernelCall& call, const std::string& where, const WindowAxes& axes, int64_t channels) {
  const Padding padding = call.op().options.padding;
  if (!axes.y.is_valid() || !axes.x.is_valid()) return call.reject(where, "a size, stride or dilation is out of range");
  const Shape expected{call.in(0).shape[kN], axes.y.results(padding), axes.x.results(padding), channels};
  if (call.out().shape == expected && expected.elements() > 0) return {};
  return call.reject(where, "the shapes do not fit", to_string(expected), to_string(call.out().shape));
}

Result<void> check_bias(const KernelCall& call, const std::string& where, int64_t channels) {
  if (!call.has(2)) return {};
  CARINA_CHECKED(call.need_type(where, 2, kImageTypes));
  if (call.in(2).shape.elements() == channels) return {};
  return call.reject(where, "the bias has another size than the channels", {}, to_string(call.in(2).shape));
}

std::span<const float> bias_of(const KernelCall& call, const TensorBytes& bytes) {
  return call.has(2) ? values_of<float>(bytes.read(call.op().inputs[2])) : std::span<const float>();
}

size_t place(const Shape& shape, int64_t n, int64_t y, int64_t x, int64_t c) {
  return static_cast<size_t>(((n * shape[kH] + y) * shape[kW] + x) * shape[kC] + c);
}

float bias_at(std::span<const float> bias, int64_t channel) {
  return bias.empty() ? 0.0F : bias[static_cast<size_t>(channel)];
}

// Writes value(n, y, x, c) after the activation to each element of the result.
template <typename Value>
void write_results(const KernelCall& call, const TensorBytes& bytes, const Value& value) {
  const Shape& shape = call.out().shape;
  const std::span<float> results = values_of<float>(bytes.write(call.op().outputs[0]));
  auto result = results.begin();
  for (int64_t n = 0; n < shape[kN]; ++n) {
    for (int64_t y = 0; y < shape[kH]; ++y) {
      for (int64_t x = 0; x < shape[kW]; ++x) {
        for (int64_t c = 0; c < shape[kC]; ++c) *result++ = activated(call.op().options.activation, value(n, y, x, c));
      }
    }
  }
}

}  // namespace

Result<void> check_convolution(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(check_images(call, where));
  CARINA_CHECKED(call.need_type(where, 1, kWeightTypes));
  const Tensor& weights = call.in(1);
  if (weights.shape.rank() != 4 || weights.shape[3] != call.in(0).shape[kC])
    return call.reject(where, "the weights do not fit the input", to_string(call.in(0).shape),
                       to_string(weights.shape));
  const int64_t channels = weights.shape[0];
  if (weights.dtype == DType::kInt8) {
    const auto count = static_cast<int64_t>(weights.quantization.scales.size());
    const bool is_symmetric = std::ranges::all_of(weights.quantization.zero_points, [](int64_t z) { return z == 0; });
    if (!weights.is_constant || (count != channels && count != 1) || !is_symmetric)
      return call.reject(where, "int8 weights beside floats need one scale, or one per channel, and no zero point", {},
                         weights.name);
  }
  CARINA_CHECKED(check_bias(call, where, channels));
  return check_window(call, where, window_of(call, weights.shape[kH], weights.shape[kW]), channels);
}

namespace {

void convolve_floats(const KernelCall& call, const TensorBytes& bytes, const WindowAxes& axes) {
  const Shape &in = call.in(0).shape, &kernel = call.in(1).shape;
  const auto x = values_of<float>(bytes.read(call.op().inputs[0])),
             weights = values_of<float>(bytes.read(call.op().inputs[1])), bias = bias_of(call, bytes);
  write_results(call, bytes, [&](int64_t n, int64_t oy, int64_t ox, int64_t o) {
    float total = 0;
    axes.y.each_tap(oy, [&](int64_t ky, int64_t iy) {
      axes.x.each_tap(ox, [&](int64_t kx, int64_t ix) {
        const size_t from = place(in, n, iy, ix, 0), by = place(kernel, o, ky, kx, 0);
        for (size_t c = 0; c < static_cast<size_t>(in[kC]); ++c) total += x[from + c] * weights[by + c];
      });
    });
    return total + bias_at(bias, o);
  });
}

void convolve_hybrid(const KernelCall& call, const TensorBytes& bytes, const WindowAxes& axes) {
  const Shape &in = call.in(0).shape, &kernel = call.in(1).shape;
  const auto x = values_of<float>(bytes.read(call.op().inputs[0]));
  const auto weights = values_of<int8_t>(bytes.read(call.op().inputs[1]));
  const auto bias = bias_of(call, bytes);
  const auto image = static_cast<size_t>(in[kH] * in[kW] * in[kC]);
  std::vector<QuantizedInput> images;
  const std::span<const float> scales = call.in(1).quantization.scales;
  const bool is_per_channel = scales.size() > 1;
  for (size_t n = 0; n < static_cast<size_t>(in[kN]); ++n) {
    const std::span<const float> values = x.subspan(n * image, image);
    images.push_back(is_per_channel ? with_zero_point(values) : symmetric(values));
  }
  write_results(call, bytes, [&](int64_t n, int64_t oy, int64_t ox, int64_t o) {
    const QuantizedInput& q = images[static_cast<size_t>(n)];
    int32_t total = 0;
    axes.y.each_tap(oy, [&](int64_t ky, int64_t iy) {
      axes.x.each_tap(ox, [&](int64_t kx, int64_t ix) {
        const size_t from = place(in, 0, iy, ix, 0), by = place(kernel, o, ky, kx, 0);
        for (size_t c = 0; c < static_cast<size_t>(in[kC]); ++c)
          total += weights[by + c] * (q.values[from + c] - q.zero_point);
      });
    });
    const auto sum = static_cast<float>(total);
    const float y = is_per_channel ? sum * scales[static_cast<size_t>(o)] * q.scale : sum * (q.scale * scales[0]);
    return bias.empty() ? y : y + bias_at(bias, o);
  });
}

}  // namespace

Result<void> run_convolution(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const WindowAxes axes = window_of(call, call.in(1).shape[kH], call.in(1).shape[kW]);
  if (call.in(1).dtype == DType::kInt8) {
    convolve_hybrid(call, bytes, axes);
  } else {
    convolve_floats(call, bytes, axes);
  }
  return {};
}

Result<void> check_depthwise_convolution(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(check_images(call, where));
  CARINA_CHECKED(call.need_type(where, 1, kImageTypes));
  const Shape& weights = call.in(1).shape;
  const int64_t channels = call.in(0).shape[kC];
  if (weights.rank() != 4 || weights[0] != 1 || channels < 1 || weights[3] % channels != 0)
    return call.reject(where, "the weights do not fit the input", to_string(call.in(0).shape), to_string(weights));
  CARINA_CHECKED(check_bias(call, where, weights[3]));
  return check_window(call, where, window_of(call, weights[kH], weights[kW]), weights[3]);
}

Result<void> run_depthwise_convolution(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const Shape &in = call.in(0).shape, &kernel = call.in(1).shape;
  const WindowAxes axes = window_of(call, kernel[kH], kernel[kW]);
  const int64_t multiplier = call.out().shape[kC] / in[kC];
  const auto x = values_of<float>(bytes.read(call.op().inputs[0])),
             weights = values_of<float>(bytes.read(call.op().inputs[1])), bias = bias_of(call, bytes);
  write_results(call, bytes, [&](int64_t n, int64_t oy, int64_t ox, int64_t o) {
    float total = 0;
    axes.y.each_tap(oy, [&](int64_t ky, int64_t iy) {
      axes.x.each_tap(ox, [&](int64_t kx, int64_t ix) {
        total += x[place(in, n, iy, ix, o / multiplier)] * weights[place(kernel, 0, ky, kx, o)];
      });
    });
    return total + bias_at(bias, o);
  });
  return {};
}

Result<void> check_average_pool(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(check_images(call, where));
  const auto& o = call.op().options;
  return check_window(call, where, window_of(call, o.filter_h, o.filter_w), call.in(0).shape[kC]);
}

// The mean of the elements inside the input.
Result<void> run_average_pool(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const Shape& in = call.in(0).shape;
  const WindowAxes axes = window_of(call, call.op().options.filter_h, call.op().options.filter_w);
  const auto x = values_of<float>(bytes.read(call.op().inputs[0]));
  write_results(call, bytes, [&](int64_t n, int64_t oy, int64_t ox, int64_t c) {
    float total = 0, count = 0;
    axes.y.each_tap(oy, [&](int64_t /*ky*/, int64_t iy) {
      axes.x.each_tap(ox, [&](int64_t /*kx*/, int64_t ix) {
        total += x[place(in, n, iy, ix, c)];
        count += 1;
      });
    });
    return total / count;
  });
  return {};
}

Result<void> check_maximum_pool(const KernelCall& call, const std::string& where) {
  return check_average_pool(call, where);
}

Result<void> run_maximum_pool(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const Shape& in = call.in(0).shape;
  const WindowAxes axes = window_of(call, call.op().options.filter_h, call.op().options.filter_w);
  const auto x = values_of<float>(bytes.read(call.op().inputs[0]));
  write_results(call, bytes, [&](int64_t n, int64_t oy, int64_t ox, int64_t c) {
    float largest = std::numeric_limits<float>::lowest();
    axes.y.each_tap(oy, [&](int64_t /*ky*/, int64_t iy) {
      axes.x.each_tap(ox, [&](int64_t /*kx*/, int64_t ix) { largest = std::max(largest, x[place(in, n, iy, ix, c)]); });
    });
    return largest;
  });
  return {};
}

// TRANSPOSE_CONV(output shape, weights, input, bias): the results' window is that of a convolution from them to the
// input.
Result<void> check_transposed_convolution(const KernelCall& call, const std::string& where) {
  for (const size_t i : {size_t{1}, size_t{2}}) CARINA_CHECKED(call.need_type(where, i, kImageTypes));
  if (call.has(3)) CARINA_CHECKED(call.need_type(where, 3, kImageTypes));
  CARINA_CHECKED(call.need_result(where, kImageTypes));
  CARINA_CHECKED(need_float_activation(call, where));
  const Shape &weights = call.in(1).shape, &in = call.in(2).shape, &out = call.out().shape;
  const bool fits = weights.rank() == 4 && in.rank() == 4 && out.rank() == 4 && weights[3] == in[kC] &&
                    weights[0] == out[kC] && in[kN] == out[kN] && in.elements() > 0 && out.elements() > 0 &&
                    (!call.has(3) || call.in(3).shape.elements() == weights[0]);
  const auto& o = call.op().options;
  if (!fits || o.stride_h < 1 || o.stride_w < 1 || weights.elements() < 1)
    return call.reject(where, "the shapes do not fit", to_string(in), to_string(out));
  return {};
}

// Each element of the input is added to the results of its window.
Result<void> run_transposed_convolution(const KernelCall& call, const TensorBytes& bytes,
                                        const std::string& /*where*/) {
  const Shape &kernel = call.in(1).shape, &in = call.in(2).shape, &out = call.out().shape;
  const auto& o = call.op().options;
  const auto weights = values_of<float>(bytes.read(call.op().inputs[1])),
             x = values_of<float>(bytes.read(call.op().inputs[2]));
  const std::span<float> y = values_of<float>(bytes.write(call.op().outputs[0]));
  const bool is_same = o.padding == Padding::kSame;
  const int64_t top = is_same ? same_padding(out[kH], kernel[kH], o.stride_h).before : 0;
  const int64_t left = is_same ? same_padding(out[kW], kernel[kW], o.stride_w).before : 0;
  std::ranges::fill(y, 0.0F);
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t c = at % in[kC], column = at / in[kC] % in[kW], row = at / in[kC] / in[kW] % in[kH];
    const int64_t n = at / in[kC] / in[kW] / in[kH];
    for (int64_t ky = 0; ky < kernel[kH]; ++ky) {
      const int64_t oy = row * o.stride_h - top + ky;
      for (int64_t kx = 0; kx < kernel[kW]; ++kx) {
        const int64_t ox = column * o.stride_w - left + kx;
        if (oy < 0 || oy >= out[kH] || ox < 0 || ox >= out[kW]) continue;
        for (int64_t oc = 0; oc < out[kC]; ++oc)
          y[place(out, n, oy, ox, oc)] += x[i] * weights[place(kernel, oc, ky, kx, c)];
      }
    }
  }
  const auto bias = call.has(3) ? values_of<float>(bytes.read(call.op().inputs[3])) : std::span<const float>();
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = activated(o.activation, y[i] + bias_at(bias, static_cast<int64_t>(i) % out[kC]));
  return {};
}

// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.
Result<void> check_resize_floats(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(check_images(call, where));
  const Shape &in = call.in(0).shape, &out = call.out().shape;
  if (in[kN] == out[kN] && in[kC] == out[kC] && in.elements() > 0 && out.elements() > 0) return {};
  return call.reject(where, "the shapes do not fit", to_string(in), to_string(out));
}

namespace {

float size_ratio(const Options& o, int64_t in, int64_t out) {
  return o.align_corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                    : static_cast<float>(in) / static_cast<float>(out);
}

// The nearest element of an axis.
int64_t nearest(const Options& o, int64_t result, int64_t in, int64_t out) {
  const float at = (static_cast<float>(result) + (o.half_pixel_centers ? 0.5F : 0.0F)) * size_ratio(o, in, out);
  const auto index = static_cast<int64_t>(o.align_corners ? std::round(at) : std::floor(at));
  return std::clamp<int64_t>(index, 0, in - 1);
}

// The two neighbors on an axis, and the distance from the first.
struct Between {
  int64_t low;
  int64_t high;
  float distance;
};
Between between(const Options& o, int64_t result, int64_t in, int64_t out) {
  const float ratio = size_ratio(o, in, out);
  const float at =
      o.half_pixel_centers ? (static_cast<float>(result) + 0.5F) * ratio - 0.5F : static_cast<float>(result) * ratio;
  const float low = std::max(std::floor(at), 0.0F);
  return {.low = static_cast<int64_t>(low),
          .high = static_cast<int64_t>(std::min(std::ceil(at), static_cast<float>(in - 1))),
          .distance = at - low};
}

}  // namespace

Result<void> run_resize_floats(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const Shape &in = call.in(0).shape, &out = call.out().shape;
  const Options& o = call.op().options;
  const auto x = values_of<float>(bytes.read(call.op().inputs[0]));
  const bool is_nearest = call.op().name == "RESIZE_NEAREST_NEIGHBOR";
  write_results(call, bytes, [&](int64_t n, int64_t oy, int64_t ox, int64_t c) {
    if (is_nearest) return x[place(in, n, nearest(o, oy, in[kH], out[kH]), nearest(o, ox, in[kW], out[kW]), c)];
    const Between v = between(o, oy, in[kH], out[kH]), h = between(o, ox, in[kW], out[kW]);
    return x[place(in, n, v.low, h.low, c)] * (1 - v.distance) * (1 - h.distance) +
           x[place(in, n, v.high, h.low, c)] * v.distance * (1 - h.distance) +
           x[place(in, n, v.low, h.high, c)] * (1 - v.distance) * h.distance +
           x[place(in, n, v.high, h.high, c)] * v.distance * h.distance;
  });
  return {};
}

}  // namespace carina::tflite
