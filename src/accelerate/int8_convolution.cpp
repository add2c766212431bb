// int8 convolutions and linear layers of ExecuTorch's Cortex-M backend. They give the same bits as the runtime's
// kernels.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>

#include "accelerate/int8_internal.h"
#include "kernels/convolution.h"

namespace carina::accelerate {

namespace {

using kernels::ConvGeometry;
using kernels::Requantization;

bool is_int32_list(const EValue& value, int64_t count) {
  return is_constant(value) && value.tensor.type == PteScalarType::kInt && value.tensor.contiguous() &&
         static_cast<int64_t>(value.tensor.elements()) == count;
}

struct Limits {
  int64_t zero_point, low, high;
};

bool set_limits(const Limits& limits, Requantization& output) {
  constexpr int64_t kMinInt8 = std::numeric_limits<int8_t>::min(), kMaxInt8 = std::numeric_limits<int8_t>::max();
  constexpr int64_t kFar = int64_t{1} << 16;
  if (limits.low < kMinInt8 || limits.high > kMaxInt8 || limits.low > limits.high || std::abs(limits.zero_point) > kFar)
    return false;
  output.zero_point = static_cast<int32_t>(limits.zero_point);
  output.low = static_cast<int32_t>(limits.low);
  output.high = static_cast<int32_t>(limits.high);
  return true;
}

bool set_scale(int64_t multiplier, int64_t shift, size_t channel, Requantization& output) {
  if (multiplier < 0 || multiplier > std::numeric_limits<int32_t>::max() || shift > 0 || shift < -31) return false;
  output.multiplier[channel] = static_cast<int32_t>(multiplier);
  output.right_shift[channel] = static_cast<int32_t>(-shift);
  return true;
}

// The conversion of the sums to bytes. No value if a sum could be too large for the vector kernels.
kernels::EpilogueOf epilogue_of(const Requantization& rule) {
  return [rule](int64_t bound) -> std::optional<kernels::IntegerEpilogue> {
    if (bound > kMaxSum) return std::nullopt;
    return kernels::IntegerEpilogue{.requantization = rule, .out_type = DType::kInt8};
  };
}

// The input's offset is minus its zero point, and padding has the value of the zero point.
bool is_offset(int64_t offset) {
  return offset >= -std::numeric_limits<int8_t>::max() && offset <= -int64_t{std::numeric_limits<int8_t>::min()};
}

// --- images, [N,H,W,C] in memory

struct Pixels {
  int64_t batches, height, width, channels;
};

std::optional<Pixels> pixels_of(const Tensor& tensor, bool channels_last_shape) {
  if (tensor.rank() != 4) return std::nullopt;
  const auto s = tensor.sizes();
  if (channels_last_shape) {
    if (!tensor.contiguous()) return std::nullopt;
    return Pixels{.batches = s[0], .height = s[1], .width = s[2], .channels = s[3]};
  }
  const bool last = std::ranges::equal(tensor.dim_order(), channels_last(4));
  const bool same = tensor.contiguous() && (s[1] == 1 || (s[2] == 1 && s[3] == 1));
  if (!last && !same) return std::nullopt;
  return Pixels{.batches = s[0], .height = s[2], .width = s[3], .channels = s[1]};
}

int64_t entry_of(const EValue& list, size_t axis) {
  if (list.kind != EValue::Kind::kIntList || list.integers.empty() || list.integers.size() > 2) return -1;
  return list.integers[list.integers.size() == 1 ? 0 : axis];
}

int64_t convolved(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  const int64_t reach = in + 2 * padding - dilation * (kernel - 1) - 1;
  return reach < 0 ? 0 : reach / stride + 1;
}

// The geometry of a call (input, weight [_, KH, KW, _], bias, stride, padding, dilation, ...).
std::optional<ConvGeometry> geometry_of(Arguments arguments, const Tensor& out, bool nhwc) {
  const auto in = pixels_of(arguments[0]->tensor, nhwc);
  const auto to = pixels_of(out, nhwc);
  if (!in || !to || in->batches != to->batches) return std::nullopt;
  const auto kernel = arguments[1]->tensor.sizes();
  const auto list = [&](size_t argument) {
    return std::array<int64_t, 3>{1, entry_of(*arguments[argument], 0), entry_of(*arguments[argument], 1)};
  };
  ConvGeometry g{.batch = in->batches,
                 .in = {1, in->height, in->width},
                 .out = {1, to->height, to->width},
                 .kernel = {1, kernel[1], kernel[2]},
                 .stride = list(3),
                 .dilation = list(5),
                 .pad = list(4),
                 .ic = in->channels,
                 .oc = to->channels,
                 .bias_count = to->channels};
  g.pad[0] = 0;
  for (size_t axis = 1; axis < 3; ++axis) {
    if (g.stride[axis] <= 0 || g.pad[axis] < 0 || g.dilation[axis] <= 0 || g.kernel[axis] <= 0 ||
        g.out[axis] != convolved(g.in[axis], g.kernel[axis], g.stride[axis], g.pad[axis], g.dilation[axis]))
      return std::nullopt;
  }
  return g.pixels() > 0 ? std::optional(g) : std::nullopt;
}

// The step of an operator that reads and writes bytes.
std::unique_ptr<Step> step_of(const EValue& in, EValue& out, std::optional<kernels::Operator> op) {
  return op ? std::make_unique<OperatorStep>(std::vector{&in}, &out, *std::move(op)) : nullptr;
}

struct ConvolutionCall {
  Arguments arguments;
  size_t first;  // index of the input's offset; output offset, multipliers, shifts, low, high, scratch and out follow

  [[nodiscard]] bool is_regular() const {
    if (arguments.size() < first + 8) return false;
    const EValue &weight = *arguments[1], &bias = *arguments[2];
    return is_int8(*arguments[0]) && is_int8(weight) && is_constant(weight) && weight.tensor.rank() == 4 &&
           weight.tensor.contiguous() && is_int8(out()) && !out().tensor.read_only &&
           (bias.is_none() || bias.is_tensor()) && is_offset(arguments[first]->to_int()) &&
           !overlap(arguments[0]->tensor, out().tensor);
  }
  [[nodiscard]] EValue& out() const { return *arguments[first + 7]; }
  [[nodiscard]] int64_t offset() const { return arguments[first]->to_int(); }
  [[nodiscard]] const int32_t* bias() const {
    return arguments[2]->is_none() ? nullptr : arguments[2]->tensor.as<const int32_t>();
  }
  // Reads zero point, bounds and scales. Returns false if the vector kernels do not support them.
  [[nodiscard]] bool set(int64_t channels, Requantization& output) const {
    const EValue &multipliers = *arguments[first + 2], &shifts = *arguments[first + 3];
    if (!is_int32_list(multipliers, channels) || !is_int32_list(shifts, channels)) return false;
    if (!arguments[2]->is_none() && !is_int32_list(*arguments[2], channels)) return false;
    for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
      if (!set_scale(multipliers.tensor.as<const int32_t>()[c], shifts.tensor.as<const int32_t>()[c], c, output))
        return false;
    }
    return set_limits({.zero_point = arguments[first + 1]->to_int(),
                       .low = arguments[first + 4]->to_int(),
                       .high = arguments[first + 5]->to_int()},
                      output);
  }
};

// (input, weight [O,KH,KW,I], bias or None, stride, padding, dilation, offsets ..., out); of a depthwise convolution
// the weight is [1,KH,KW,O], and the depth multiplier follows the dilation.
std::unique_ptr<Step> make_conv(Arguments arguments, bool nhwc, bool depthwise, int threads) {
  const ConvolutionCall call{.arguments = arguments, .first = depthwise ? size_t{7} : size_t{6}};
  if (!call.is_regular()) return nullptr;
  const auto weight = arguments[1]->tensor.sizes();
  auto g = geometry_of(arguments, call.out().tensor, nhwc);
  if (!g) return nullptr;
  const bool fits =
      depthwise ? weight[0] == 1 && g->ic == weight[3] && g->oc == weight[3] : g->ic == weight[3] && g->oc == weight[0];
  Requantization rule(g->oc);
  if (!fits || g->ic == 0 || !call.set(g->oc, rule)) return nullptr;
  g->multiplier = depthwise ? 1 : 0;
  const kernels::ConvI8 conv{.geometry = *g,
                             .constants = {.weights = arguments[1]->tensor.as<const int8_t>(),
                                           .bias = call.bias(),
                                           .bias_count = g->oc,
                                           .input_zp = static_cast<int32_t>(-call.offset()),
                                           .weight_zp = 0},
                             .epilogue = epilogue_of(rule),
                             .threads = threads};
  return step_of(*arguments[0], call.out(), depthwise ? kernels::depthwise_i8(conv) : kernels::dense_i8(conv));
}

// (input [..., K], weights [N, K], bias or None, kernel_sum or None, input_offset, filter_offset, output_offset,
// multipliers, shifts, high, low, out)
std::unique_ptr<Step> make_linear(Arguments arguments, int threads) {
  if (arguments.size() < 12) return nullptr;
  const EValue &in = *arguments[0], &weights = *arguments[1], &sums = *arguments[3];
  const EValue& start = sums.is_none() ? *arguments[2] : sums;
  EValue& out = *arguments[11];
  const bool lists = arguments[7]->kind == EValue::Kind::kIntList && !arguments[7]->integers.empty() &&
                     arguments[8]->kind == EValue::Kind::kIntList && !arguments[8]->integers.empty();
  if (!is_int8(in) || !is_int8(weights) || !is_constant(weights) || !is_int8(out) || out.tensor.read_only || !lists ||
      !in.tensor.contiguous() || !weights.tensor.contiguous() || !out.tensor.contiguous() ||
      weights.tensor.rank() != 2 || in.tensor.rank() == 0 || overlap(in.tensor, out.tensor))
    return nullptr;
  const int64_t channels = weights.tensor.sizes()[0], depth = weights.tensor.sizes()[1];
  const int64_t offset = sums.is_none() ? arguments[4]->to_int() : 0;
  if (depth == 0 || channels == 0 || in.tensor.sizes().back() != depth || arguments[5]->to_int() != 0 ||
      !is_offset(offset) || (!start.is_none() && !is_int32_list(start, channels)))
    return nullptr;
  const int64_t rows = static_cast<int64_t>(in.tensor.elements()) / depth;
  if (rows == 0 || static_cast<int64_t>(out.tensor.elements()) != rows * channels) return nullptr;
  Requantization output(channels);
  for (size_t n = 0; n < static_cast<size_t>(channels); ++n) {
    if (!set_scale(arguments[7]->integers[0], arguments[8]->integers[0], n, output)) return nullptr;
  }
  const Limits limits{
      .zero_point = arguments[6]->to_int(), .low = arguments[10]->to_int(), .high = arguments[9]->to_int()};
  if (!set_limits(limits, output)) return nullptr;
  return step_of(
      in, out,
      kernels::dense_i8(
          {.geometry = {.in = {1, 1, rows}, .out = {1, 1, rows}, .ic = depth, .oc = channels, .bias_count = channels},
           .constants = {.weights = weights.tensor.as<const int8_t>(),
                         .bias = start.is_none() ? nullptr : start.tensor.as<const int32_t>(),
                         .bias_count = channels,
                         .input_zp = static_cast<int32_t>(-offset),
                         .weight_zp = 0},
           .epilogue = epilogue_of(output),
           .threads = threads}));
}

}  // namespace

std::unique_ptr<Step> make_int8_call(std::string_view name, Arguments arguments, int threads) {
  if (name == "cortex_m::quantized_conv2d.out") return make_conv(arguments, false, false, threads);
  if (name == "cortex_m::quantized_conv2d_nhwc.out") return make_conv(arguments, true, false, threads);
  if (name == "cortex_m::quantized_depthwise_conv2d.out") return make_conv(arguments, false, true, threads);
  if (name == "cortex_m::quantized_depthwise_conv2d_nhwc.out") return make_conv(arguments, true, true, threads);
  if (name == "cortex_m::quantized_linear.out") return make_linear(arguments, threads);
  if (name == "cortex_m::quantized_add.out") return make_int8_add(arguments);
  if (name == "cortex_m::quantize_per_tensor.out" || name == "quantized_decomposed::quantize_per_tensor.out")
    return make_quantize(arguments);
  if (name == "cortex_m::dequantize_per_tensor.out") return make_dequantize(arguments, 6);
  if (name == "quantized_decomposed::dequantize_per_tensor.out") return make_dequantize(arguments, 7);
  return nullptr;
}

}  // namespace carina::accelerate
