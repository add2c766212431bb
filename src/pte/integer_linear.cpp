// int8 steps of convolutions, linear layers and matrix products.
#include <algorithm>
#include <cmath>
#include <limits>

#include "pte/integer_builder_internal.h"
#include "tensor/elements.h"

namespace carina::pte {

namespace {

using ir::ValueId;

// The factor from sums to outputs for each output channel. Returns no value if a kernel cannot apply one of them.
std::optional<std::vector<Multiplier>> multipliers_of(const Quantization& in, const Quantization& weight,
                                                      const Quantization& to, int64_t channels) {
  std::vector<Multiplier> multipliers;
  for (int64_t c = 0; c < channels; ++c) {
    const double scale = weight.scales[weight.per_channel() ? static_cast<size_t>(c) : 0];
    multipliers.push_back(multiplier_of(in.scale() * scale / to.scale()));
    if (!is_applicable(multipliers.back())) return std::nullopt;
  }
  return multipliers;
}

// The bias as int32 on the scale of the sums. Returns no value if the bias is not constant.
std::optional<std::vector<int64_t>> bias_of(const ir::Graph& graph, const ir::Node& node, const Quantization& in,
                                            const Quantization& weight, int64_t channels) {
  std::vector<int64_t> sums(static_cast<size_t>(channels));
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return sums;
  const ir::Value& bias = graph[node.inputs[2]];
  const auto floats = bias.constant ? numbers_of(*bias.constant) : std::nullopt;
  if (!floats || floats->size() != sums.size()) return std::nullopt;
  for (size_t c = 0; c < sums.size(); ++c) {
    const double integer = std::nearbyint((*floats)[c] / (in.scale() * weight.scales[weight.per_channel() ? c : 0]));
    constexpr double kMaxSum = std::numeric_limits<int32_t>::max();
    sums[c] = static_cast<int64_t>(std::clamp(integer, -kMaxSum - 1, kMaxSum));
  }
  return sums;
}

// Reorders weights [O, I, H, W] to [O, H, W, I], or to [I, H, W, O] if I = 1.
std::vector<int64_t> reordered(const std::vector<int64_t>& weights, const Shape& shape, bool outputs_last) {
  std::vector<int64_t> result(weights.size());
  const int64_t filters = shape[0], inner = shape[1], height = shape[2], width = shape[3];
  size_t from = 0;
  for (int64_t o = 0; o < filters; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < width; ++x) {
          const int64_t at =
              outputs_last ? ((i * height + y) * width + x) * filters + o : ((o * height + y) * width + x) * inner + i;
          result[static_cast<size_t>(at)] = weights[from++];
        }
      }
    }
  }
  return result;
}

// The largest scratch size that CMSIS-NN's kernels need on any core.
// Source: arm_convolve_wrapper_s8_get_buffer_size: two columns of int16, or four of int8 padded to eights; none for a
// single tap. arm_depthwise_conv_wrapper_s8_get_buffer_size: a block of channels for each of four outputs, or a column
// of int16; none if a channel has several outputs.
Scratch scratch_of_columns(int64_t taps, int64_t channels, bool is_single_tap) {
  return {.bytes = is_single_tap ? 0 : 4 * ((taps * channels + 7) / 8 * 8)};
}
Scratch scratch_of_depthwise(int64_t taps, int64_t channels, int64_t outputs_each) {
  constexpr int64_t kChannelBlock = 124;
  return {.bytes = outputs_each > 1 ? 0 : std::max(4 * kChannelBlock * taps, 2 * taps * channels)};
}

// The arguments of all convolution kernels after their geometry.
struct Scaled {
  int64_t input_offset = 0;
  int64_t output_offset = 0;
  ValueId multipliers, shifts;
  int64_t low = 0, high = 0;
};

Scaled scaled(IntegerBuilder& builder, const Enclosed& enclosed, const Quantization& in,
              const std::vector<Multiplier>& multipliers) {
  std::vector<int64_t> factors, shifts;
  for (const Multiplier& each : multipliers) {
    factors.push_back(each.multiplier);
    shifts.push_back(each.shift);
  }
  const Shape shape{static_cast<int64_t>(multipliers.size())};
  return {.input_offset = -in.zero_point(),
          .output_offset = enclosed.to.zero_point(),
          .multipliers = builder.constant(enclosed.node.name + "_multipliers", DType::kInt32, shape, factors),
          .shifts = builder.constant(enclosed.node.name + "_shifts", DType::kInt32, shape, shifts),
          .low = enclosed.low,
          .high = enclosed.high};
}

struct Geometry {
  std::vector<int64_t> stride{1, 1}, padding{0, 0}, dilation{1, 1};
};

// Adds a convolution of [N, H, W, C] with weights [O, H, W, I].
void call_plain(IntegerBuilder& builder, ValueId in, ValueId weights, ValueId bias, const Geometry& at, const Scaled& s,
                ValueId output) {
  const Shape shape = builder.graph()[weights].shape;
  const int64_t taps = shape[1] * shape[2], channels = builder.graph()[in].shape[3];
  const bool is_single_tap = taps == 1 && channels == shape[3] && at.padding == std::vector<int64_t>{0, 0};
  builder.call("cortex_m::quantized_conv2d_nhwc",
               {in, weights, bias, at.stride, at.padding, at.dilation, s.input_offset, s.output_offset, s.multipliers,
                s.shifts, s.low, s.high, scratch_of_columns(taps, channels, is_single_tap)},
               output);
}

// Adds a depthwise convolution with weights [1, H, W, O].
void call_depthwise(IntegerBuilder& builder, ValueId in, ValueId weights, ValueId bias, const Geometry& at,
                    const Scaled& s, ValueId output) {
  const Shape shape = builder.graph()[weights].shape;
  const int64_t each = shape[3] / builder.graph()[in].shape[3];
  builder.call("cortex_m::quantized_depthwise_conv2d_nhwc",
               {in, weights, bias, at.stride, at.padding, at.dilation, each, s.input_offset, s.output_offset,
                s.multipliers, s.shifts, s.low, s.high, scratch_of_depthwise(shape[1] * shape[2], shape[3], each)},
               output);
}

struct Operands {
  Integers in;
  Quantization weight;
  std::vector<int64_t> weights, bias;
  std::vector<Multiplier> multipliers;
};

// Input, weights and bias of a convolution or a linear layer. All are int8, and all but the input are constants.
std::optional<Operands> operands_of(const IntegerBuilder& builder, const Enclosed& enclosed) {
  const ir::Node& node = enclosed.node;
  const auto in = builder.integers_of(node.inputs[0]);
  const auto weights = builder.weights_of(node.inputs[1]);
  if (!in || !is_int8(in->quantization) || !weights) return std::nullopt;
  const ir::Value& value = builder.graph()[node.inputs[1]];
  const Quantization& q = *value.quantization;
  if (q.per_channel() && q.axis != 0) return std::nullopt;
  const auto bias = bias_of(builder.graph(), node, in->quantization, q, value.shape[0]);
  const auto multipliers = multipliers_of(in->quantization, q, enclosed.to, value.shape[0]);
  if (!bias || !multipliers) return std::nullopt;
  return Operands{.in = *in, .weight = q, .weights = *weights, .bias = *bias, .multipliers = *multipliers};
}

bool is_transposed(const ir::Node& node) {
  return node.op == ir::Op(AtenOp::convolution_default) && node.attributes.get<bool>("transposed");
}

bool convolution(IntegerBuilder& builder, const Enclosed& enclosed) {
  const ir::Node& node = enclosed.node;
  const Shape shape = builder.graph()[node.inputs[1]].shape;
  if (shape.rank() != 4 || is_transposed(node)) return false;
  const auto operands = operands_of(builder, enclosed);
  if (!operands) return false;
  const ValueId in = builder.channels_last(operands->in.value);
  const Shape from = builder.graph()[in].shape;
  const bool depthwise = shape[1] == 1 && from[3] == node.attributes.integer("groups") && from[0] == 1;
  const Shape weight_shape =
      depthwise ? Shape{1, shape[2], shape[3], shape[0]} : Shape{shape[0], shape[2], shape[3], shape[1]};
  const ValueId weights = builder.constant(node.name + "_weights", DType::kInt8, weight_shape,
                                           reordered(operands->weights, shape, depthwise));
  const ValueId bias = builder.constant(node.name + "_bias", DType::kInt32, Shape{shape[0]}, operands->bias);
  const Geometry at{.stride = both_axes(node.attributes.integers("stride")),
                    .padding = both_axes(node.attributes.integers("padding")),
                    .dilation = both_axes(node.attributes.integers("dilation"))};
  const Scaled scale = scaled(builder, enclosed, operands->in.quantization, operands->multipliers);
  const ValueId output = builder.written_channels_last(enclosed.output);
  (depthwise ? call_depthwise : call_plain)(builder, in, weights, bias, at, scale, output);
  return true;
}

// Adds a linear layer with one scale over rows. `sums` has the weights' sums with the bias and the input's offset;
// CMSIS-NN needs it on cores with MVE.
void call_rows(IntegerBuilder& builder, const Enclosed& enclosed, ValueId rows, ValueId weights, ValueId sums,
               int64_t offset, const Multiplier& scale, ValueId output) {
  builder.call("cortex_m::quantized_linear",
               {rows, weights, None{}, sums, offset, int64_t{0}, enclosed.to.zero_point(),
                std::vector<int64_t>{scale.multiplier}, std::vector<int64_t>{scale.shift}, enclosed.high, enclosed.low},
               output);
}

// Adds a linear layer with one scale.
void call_linear(IntegerBuilder& builder, const Enclosed& enclosed, const Operands& operands, const Shape& shape) {
  std::vector<int64_t> sums = operands.bias;
  const int64_t offset = -operands.in.quantization.zero_point();
  for (size_t i = 0; i < operands.weights.size(); ++i)
    sums[i / static_cast<size_t>(shape[1])] += offset * operands.weights[i];
  const ValueId weights = builder.constant(enclosed.node.name + "_weights", DType::kInt8, shape, operands.weights);
  const ValueId sum = builder.constant(enclosed.node.name + "_sums", DType::kInt32, Shape{1, shape[0]}, sums);
  call_rows(builder, enclosed, builder.plain(operands.in.value), weights, sum, offset, operands.multipliers.front(),
            enclosed.output);
}

// Adds a linear layer with a scale for each channel, as a convolution of one tap over adjacent rows.
void call_as_convolution(IntegerBuilder& builder, const Enclosed& enclosed, const Operands& operands,
                         const Shape& shape) {
  const Shape out = builder.graph()[enclosed.output].shape;
  const int64_t rows = shape[0] == 0 ? 0 : out.elements() / shape[0];
  const ValueId in = builder.reshaped(builder.plain(operands.in.value), Shape{1, 1, rows, shape[1]});
  const ValueId weights = builder.constant(enclosed.node.name + "_weights", DType::kInt8,
                                           Shape{shape[0], 1, 1, shape[1]}, operands.weights);
  const ValueId bias = builder.constant(enclosed.node.name + "_bias", DType::kInt32, Shape{shape[0]}, operands.bias);
  const ValueId wide = builder.value(enclosed.node.name + "_rows", Shape{1, 1, rows, shape[0]});
  call_plain(builder, in, weights, bias, {}, scaled(builder, enclosed, operands.in.quantization, operands.multipliers),
             wide);
  builder.alias(enclosed.output, builder.reshaped(wide, out));
}

bool linear(IntegerBuilder& builder, const Enclosed& enclosed) {
  const Shape shape = builder.graph()[enclosed.node.inputs[1]].shape;
  if (shape.rank() != 2) return false;
  const auto operands = operands_of(builder, enclosed);
  if (!operands) return false;
  (operands->weight.per_channel() ? call_as_convolution : call_linear)(builder, enclosed, *operands, shape);
  return true;
}

bool batch_matmul(IntegerBuilder& builder, const Enclosed& enclosed) {
  const auto a = builder.integers_of(enclosed.node.inputs[0]);
  const auto b = builder.integers_of(enclosed.node.inputs[1]);
  const bool whole_range = enclosed.low == -128 && enclosed.high == 127;  // the kernel supports these limits only
  if (!a || !b || !is_int8(a->quantization) || !is_int8(b->quantization) || !whole_range) return false;
  const Multiplier scale = multiplier_of(a->quantization.scale() * b->quantization.scale() / enclosed.to.scale());
  if (!is_applicable(scale)) return false;
  const ValueId right = builder.plain(b->value);
  const Shape shape = builder.graph()[right].shape;
  const ValueId turned = builder.value(enclosed.node.name + "_turned", Shape{shape[0], shape[2], shape[1]});
  builder.call("cortex_m::transpose", {right, std::vector<int64_t>{0, 2, 1}}, turned);
  builder.call("cortex_m::quantized_batch_matmul",
               {builder.plain(a->value), -a->quantization.zero_point(), turned, -b->quantization.zero_point(),
                enclosed.to.zero_point(), scale.multiplier, scale.shift, Scratch{.bytes = 4 * shape[2]}},
               enclosed.output);
  return true;
}

// A sum over windows is a depthwise convolution with weights of one, which rounds only once.
constexpr int64_t kMaxOnes = int64_t{64} << 10;

// Adds the sum of each channel over the whole image, as a linear layer of one output whose weights are ones.
void sum_images(IntegerBuilder& builder, const Enclosed& enclosed, const Integers& in, const Multiplier& scale) {
  const Shape shape = builder.graph()[in.value].shape;
  const int64_t pixels = shape[2] * shape[3], offset = -in.quantization.zero_point();
  const ValueId rows = builder.reshaped(builder.plain(in.value), Shape{shape[0] * shape[1], pixels});
  const ValueId ones = builder.constant(enclosed.node.name + "_ones", DType::kInt8, Shape{1, pixels},
                                        std::vector<int64_t>(static_cast<size_t>(pixels), 1));
  const ValueId start = builder.constant(enclosed.node.name + "_sums", DType::kInt32, Shape{1, 1}, {offset * pixels});
  const ValueId sums = builder.value(enclosed.node.name + "_sums", Shape{shape[0] * shape[1], 1});
  call_rows(builder, enclosed, rows, ones, start, offset, scale, sums);
  builder.alias(enclosed.output, builder.reshaped(sums, Shape(builder.graph()[enclosed.output].shape)));
}

}  // namespace

bool summed(IntegerBuilder& builder, const Enclosed& enclosed, const Window& window) {
  const auto in = builder.integers_of(enclosed.node.inputs[0]);
  if (!in || !is_int8(in->quantization)) return false;
  const Shape shape = builder.graph()[in->value].shape;
  const Multiplier scale = multiplier_of(in->quantization.scale() * window.factor / enclosed.to.scale());
  const bool is_whole = window.height == shape[2] && window.width == shape[3];
  if (is_whole && is_applicable(scale) && shape.elements() > 0) {
    sum_images(builder, enclosed, *in, scale);
    return true;
  }
  const int64_t ones = window.height * window.width * shape[1];
  if (!is_applicable(scale) || shape[0] != 1 || ones > kMaxOnes || ones == 0) return false;
  const auto channels = static_cast<size_t>(shape[1]);
  const ValueId from = builder.channels_last(in->value);
  const ValueId weights =
      builder.constant(enclosed.node.name + "_ones", DType::kInt8, Shape{1, window.height, window.width, shape[1]},
                       std::vector<int64_t>(static_cast<size_t>(ones), 1));
  const ValueId bias =
      builder.constant(enclosed.node.name + "_bias", DType::kInt32, Shape{shape[1]}, std::vector<int64_t>(channels));
  const Geometry at{.stride = {window.row_stride, window.column_stride}};
  const Scaled scales = scaled(builder, enclosed, in->quantization, std::vector<Multiplier>(channels, scale));
  call_depthwise(builder, from, weights, bias, at, scales, builder.written_channels_last(enclosed.output));
  return true;
}

IntegerKernel integer_linear(AtenOp op) {
  if (op == AtenOp::conv2d_default || op == AtenOp::convolution_default) return convolution;
  if (op == AtenOp::linear_default) return linear;
  if (op == AtenOp::bmm_default) return batch_matmul;
  return nullptr;
}

}  // namespace carina::pte
