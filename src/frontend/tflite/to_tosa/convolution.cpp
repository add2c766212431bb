#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "frontend/tflite/to_tosa/ops_internal.h"
#include "frontend/tflite/to_tosa/window_internal.h"
#include "tensor/elements.h"

// CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV and FULLY_CONNECTED: sums of products, and one RESCALE to the result.
//   int8:  CONV2D -> i32, RESCALE rounded twice (FULLY_CONNECTED: once, or as the user asks), CLAMP of the fused
//          activation
//   int16: CONV2D -> i48, RESCALE with the 16 high bits of the multiplier
namespace carina::tflite {

namespace {

using ir::ValueId;

constexpr std::array kActivations{DType::kInt8, DType::kUInt8, DType::kInt16};
constexpr std::array kWeights{DType::kInt8, DType::kUInt8, DType::kInt4};
constexpr std::array kBiases{DType::kInt32, DType::kInt64};

DType sum_type(DType activation) {
  return activation == DType::kInt16 ? DType::kInt48 : DType::kInt32;
}

// The operands of an operator with weights, by their place among its inputs.
struct Operands {
  size_t input = 0;
  size_t weights = 1;
  size_t bias = 2;
  size_t channel_axis = 0;  // of the weights: the axis of the output channels
  bool is_matrix = false;   // FULLY_CONNECTED: int8 weights may have a zero point other than 0
};

Result<void> check_weights(const Call& call, const Operands& at) {
  const Tensor& weights = call.in(at.weights);
  CARINA_CHECKED(call.need_type(weights, kWeights));
  if (!weights.is_constant)
    return call.reject("the weights are not constant", {}, weights.name,
                       "weights computed at run time are not supported");
  const TensorQuantization& q = weights.quantization;
  if (q.scales.empty()) return call.reject("the weights are not quantized", {}, weights.name);
  const auto is_valid = [&](int64_t zero) {
    if (weights.dtype == DType::kUInt8) return zero >= 0 && zero <= 255 && q.scales.size() == 1;
    return zero == 0 || (at.is_matrix && zero >= -128 && zero <= 127 && q.scales.size() == 1);
  };
  for (const int64_t zero : q.zero_points) {
    if (!is_valid(zero))
      return call.reject("weights with this zero point are not supported", "0", fmt::to_string(zero));
  }
  if (q.is_per_channel() && q.axis != at.channel_axis)
    return call.reject("the weights have a scale per index of an axis that is not that of the output channels", {},
                       fmt::format("axis {}", q.axis));
  return {};
}

Result<void> check_tensors(const Call& call, const Operands& at, size_t rank) {
  CARINA_CHECKED(call.need(std::max(at.input, at.weights) + 1));
  CARINA_CHECKED(call.need_quantized(call.in(at.input), kActivations));
  CARINA_CHECKED(call.need_quantized(call.result(), kActivations));
  if (call.in(at.input).dtype != call.result().dtype)
    return call.reject("input and result have different types", call.in(at.input).type_name, call.result().type_name);
  CARINA_CHECKED(check_weights(call, at));
  for (const size_t i : {at.input, at.weights}) {
    if (rank != 0 && call.in(i).shape.rank() != rank)
      return call.reject("a tensor has another rank", fmt::to_string(rank), to_string(call.in(i).shape));
  }
  for (const int64_t dim : call.in(at.weights).shape.dims()) {
    if (dim < 1) return call.reject("weights without elements");
  }
  if (call.has(at.bias)) CARINA_CHECKED(call.need_type(call.in(at.bias), kBiases));
  return {};
}

// The weights as TOSA has them: of int4 with int16 activations, there is no row, and they are int8.
Result<ValueId> weights_of(Call& call, const Operands& at) {
  const Tensor& weights = call.in(at.weights);
  if (weights.dtype != DType::kInt4 || call.in(at.input).dtype != DType::kInt16) return call.value(at.weights);
  CARINA_TRY(const std::vector<int64_t> values, call.constant(at.weights, "the weights"));
  return call.out.constant(weights.name, integer_tensor(DType::kInt8, weights.shape, values));
}

int64_t weights_zero_point(const Tensor& weights) {
  return weights.quantization.zero_points.front() - (weights.dtype == DType::kUInt8 ? 128 : 0);
}

// The bias as TOSA has it: int32, or int48 for int16 activations. LiteRT's int32 bias of int16 activations has the same
// values.
Result<std::vector<int64_t>> bias_of(const Call& call, const Operands& at, int64_t channels) {
  if (!call.has(at.bias)) return std::vector<int64_t>(static_cast<size_t>(channels));
  CARINA_TRY(std::vector<int64_t> bias, call.constant(at.bias, "the bias"));
  if (static_cast<int64_t>(bias.size()) != channels)
    return call.reject("the bias does not have one element per channel", fmt::to_string(channels),
                       fmt::to_string(bias.size()));
  const IntegerRange range = range_of(sum_type(call.in(at.input).dtype));
  for (const int64_t b : bias) {
    if (b < range.min || b > range.max) return call.reject("a bias beyond the accumulator", {}, fmt::to_string(b));
  }
  return bias;
}

// One multiplier per output channel, or one. LiteRT computes them in double; but of uint8, except for FULLY_CONNECTED,
// the product of the scales is a float.
std::vector<Multiplier> multipliers_of(const Call& call, const Operands& at) {
  const float in = Call::scale(call.in(at.input));
  const double result = Call::scale(call.result());
  const std::vector<float>& weights = call.in(at.weights).quantization.scales;
  const bool has_float_product = call.in(at.input).dtype == DType::kUInt8 && !at.is_matrix;
  std::vector<Multiplier> out;
  for (const float weight : weights) {
    const double product = has_float_product ? double{in * weight} : double{in} * double{weight};
    out.push_back(multiplier_of(product / result));
  }
  return out;
}

// The largest magnitudes of the sums of products: those of the weights of a channel times that of the input.
std::vector<int64_t> largest_sums(const Call& call, const Operands& at, const std::vector<int64_t>& weights,
                                  const std::vector<int64_t>& bias) {
  const Shape shape = call.in(at.weights).shape;
  const auto channels = static_cast<size_t>(shape[at.channel_axis]);
  const ChannelOf channel_of(shape, at.channel_axis);
  std::vector<int64_t> sums(channels);
  for (size_t i = 0; i < weights.size(); ++i) sums[channel_of(i)] += std::abs(weights[i]) << 15;
  for (size_t c = 0; c < channels; ++c) sums[c] += std::abs(bias[c]);
  return sums;
}

// int48 sums as int32, each times 2^shifts[c], where `multipliers` are those of the shifted sums. They fit, or those
// that do not are beyond the result's range as well: a scale of 2^-15 and more takes 2^31 there.
Result<ValueId> narrow_sum(Call& call, const Operands& at, ValueId sum, const std::vector<int64_t>& bias,
                           const std::vector<Multiplier>& multipliers, const std::vector<int>& shifts) {
  CARINA_TRY(const std::vector<int64_t> weights, call.constant(at.weights, "the weights"));
  const bool saturates = std::ranges::all_of(
      multipliers, [](const Multiplier& m) { return m.multiplier != 0 && m.exponent >= -14 && m.exponent <= -1; });
  const std::vector<int64_t> sums = largest_sums(call, at, weights, bias);
  std::vector<Multiplier> narrowing;
  for (size_t c = 0; c < sums.size(); ++c) {
    const int shift = shifts.empty() ? 0 : shifts[c];
    if (!saturates && sums[c] >= int64_t{1} << (30 - shift))
      return call.reject("sums of more than 30 bits", {}, {}, "a channel has too many weights for int16 activations");
    if (c == 0 || !shifts.empty()) narrowing.push_back({.multiplier = 0x40000000, .exponent = 1 + shift});
  }
  return call.rescale(sum, {.multipliers = narrowing, .to = DType::kInt32});
}

Result<ValueId> narrow_sum(Call& call, const Operands& at, ValueId sum, const std::vector<int64_t>& bias) {
  return narrow_sum(call, at, sum, bias, multipliers_of(call, at), {});
}

// LiteRT reads an int32 bias of int16 activations wrongly. TensorFlow Lite Micro sums in 32 bits then.
bool has_narrow_bias(const Call& call, const Operands& at) {
  return call.in(at.input).dtype == DType::kInt16 && call.has(at.bias) && call.in(at.bias).dtype == DType::kInt32;
}

Result<ValueId> finish(Call& call, ValueId sum, const std::vector<Multiplier>& multipliers, int64_t rounding) {
  for (const Multiplier& m : multipliers) {
    if (m.exponent > (call.out.dtype(sum) == DType::kInt48 ? 7 : 29))
      return call.reject("the ratio of the scales is too large", {}, fmt::format("2^{}", m.exponent));
  }
  const ValueId scaled = call.rescale(sum, {.multipliers = multipliers,
                                            .output_zp = Call::zero_point(call.result()),
                                            .to = Call::type_of(call.result()),
                                            .rounding = rounding});
  return call.activated(scaled);
}

Result<ValueId> finish(Call& call, const Operands& at, ValueId sum, int64_t rounding) {
  return finish(call, sum, multipliers_of(call, at), rounding);
}

// int16 sums with all bits of the multipliers: int32 first. An NPU scales 32-bit values of different channels in one
// operation only if their shifts are equal, so the smaller shifts are made up for in the narrow sums, where these have
// room.
//   Example: multipliers m0 * 2^-3 and m1 * 2^-5 become m0 * 2^-5 of the sum * 4, and m1 * 2^-5.
Result<ValueId> finish_wide(Call& call, const Operands& at, ValueId sum, const std::vector<int64_t>& bias) {
  constexpr int kMaxShift = 12;  // of an int48 RESCALE
  std::vector<Multiplier> multipliers = multipliers_of(call, at);
  int lowest = std::numeric_limits<int>::max();
  for (const Multiplier& m : multipliers) {
    if (m.multiplier != 0) lowest = std::min(lowest, m.exponent);
  }
  std::vector<int> shifts;
  for (Multiplier& m : multipliers) {
    shifts.push_back(m.multiplier == 0 ? 0 : m.exponent - lowest);
    m.exponent = m.multiplier == 0 ? m.exponent : lowest;
  }
  const int widest = *std::ranges::max_element(shifts);
  if (widest > 0 && widest <= kMaxShift) {
    if (const auto shifted = narrow_sum(call, at, sum, bias, multipliers, shifts))
      return finish(call, *shifted, multipliers, ir::kSingleRound);
  }
  CARINA_TRY(const ValueId narrow, narrow_sum(call, at, sum, bias));
  return finish(call, at, narrow, ir::kSingleRound);
}

struct Grid {
  Coverage rows;
  Coverage columns;
};

Result<Grid> grid_of(const Call& call, const Shape& input, int64_t kernel_h, int64_t kernel_w) {
  const Options& o = call.options();
  Grid grid;
  CARINA_TRY(grid.rows,
             coverage_of(call, o.padding,
                         {.size = input[1], .kernel = kernel_h, .stride = o.stride_h, .dilation = o.dilation_h}));
  CARINA_TRY(grid.columns,
             coverage_of(call, o.padding,
                         {.size = input[2], .kernel = kernel_w, .stride = o.stride_w, .dilation = o.dilation_w}));
  return grid;
}

struct Sum {
  TosaOp op;
  ValueId input;
  ValueId weights;
  std::span<const int64_t> bias;
  int64_t input_zp = 0;
  int64_t weights_zp = 0;
};

ValueId emit_sum(Call& call, const Sum& sum, const Grid& grid, int64_t channels) {
  const DType type = sum_type(call.out.dtype(sum.input));
  const Options& o = call.options();
  const ValueId input = used_part(call, sum.input, grid.rows, grid.columns);
  const ValueId bias = call.out.integers(type, sum.bias);
  const ValueId input_zp = call.out.integer(call.out.dtype(sum.input), sum.input_zp);
  const ValueId weights_zp = call.out.integer(call.out.dtype(sum.weights), sum.weights_zp);
  const std::vector<int64_t> pad{grid.rows.before, grid.rows.after, grid.columns.before, grid.columns.after};
  return call.out.emit(sum.op, {input, sum.weights, bias, input_zp, weights_zp},
                       {{"pad", pad},
                        {"stride", std::vector<int64_t>{o.stride_h, o.stride_w}},
                        {"dilation", std::vector<int64_t>{o.dilation_h, o.dilation_w}},
                        {"local_bound", false},
                        {"acc_type", type}},
                       {.dtype = type,
                        .shape = Shape{call.out.shape(input)[0], grid.rows.results, grid.columns.results, channels},
                        .suffix = "sum"});
}

// Convolution of groups of channels: each has its part of the input and of the filters.
ValueId emit_groups(Call& call, const Sum& whole, const Grid& grid, int64_t channels, int64_t groups) {
  std::vector<ValueId> parts;
  const Shape input = call.out.shape(whole.input), filters = call.out.shape(whole.weights);
  const int64_t depth = filters[3], made = channels / groups;
  const auto bytes = static_cast<size_t>(made * filters[1] * filters[2] * depth);
  const carina::Tensor all = *call.out.graph()[whole.weights].constant;
  for (int64_t g = 0; g < groups; ++g) {
    Sum part = whole;
    part.input = call.out.slice(whole.input, {0, 0, 0, g * depth}, Shape{input[0], input[1], input[2], depth});
    part.weights = call.out.constant(call.in(1).name, {.dtype = all.dtype,
                                                       .shape = Shape{made, filters[1], filters[2], depth},
                                                       .data = all.data.slice(static_cast<size_t>(g) * bytes, bytes)});
    part.bias = whole.bias.subspan(static_cast<size_t>(g * made), static_cast<size_t>(made));
    parts.push_back(emit_sum(call, part, grid, made));
  }
  return call.out.concat(parts, 3);
}

}  // namespace

ValueId row_products(Call& call, const RowProducts& what) {
  const Shape matrix = call.out.shape(what.matrix);
  const int64_t rows = call.out.shape(what.rows).elements() / matrix[3];
  return emit_sum(call,
                  {.op = TosaOp::CONV2D,
                   .input = call.out.reshape(what.rows, Shape{1, 1, rows, matrix[3]}),
                   .weights = what.matrix,
                   .bias = what.bias,
                   .input_zp = what.rows_zp,
                   .weights_zp = what.matrix_zp},
                  {.rows = {.results = 1, .used = 1}, .columns = {.results = rows, .used = rows}}, matrix[0]);
}

Result<void> convolution(Call& call) {
  const Operands at;
  CARINA_CHECKED(check_tensors(call, at, 4));
  const Shape input = call.in(0).shape, weights = call.in(1).shape;
  const int64_t channels = weights[0];
  if (input[3] % weights[3] != 0 || channels % (input[3] / weights[3]) != 0)
    return call.reject("the filters do not fit the input's channels", to_string(input), to_string(weights));
  const int64_t groups = input[3] / weights[3];
  CARINA_TRY(const Grid grid, grid_of(call, input, weights[1], weights[2]));
  CARINA_TRY(const std::vector<int64_t> bias, bias_of(call, at, channels));
  CARINA_TRY(const ValueId filters, weights_of(call, at));
  const Sum sum{.op = TosaOp::CONV2D,
                .input = call.value(0),
                .weights = filters,
                .bias = bias,
                .input_zp = Call::zero_point(call.in(0)),
                .weights_zp = weights_zero_point(call.in(1))};
  ValueId total = groups == 1 ? emit_sum(call, sum, grid, channels) : emit_groups(call, sum, grid, channels, groups);
  if (has_narrow_bias(call, at)) {
    CARINA_TRY(total, narrow_sum(call, at, total, bias));
  }
  CARINA_TRY(const ValueId result, finish(call, at, total, kDoubleRound));
  return call.set(result);
}

Result<void> depthwise_convolution(Call& call) {
  const Operands at{.channel_axis = 3};
  CARINA_CHECKED(check_tensors(call, at, 4));
  const Shape input = call.in(0).shape, weights = call.in(1).shape;
  const int64_t channels = weights[3];
  if (weights[0] != 1 || channels % input[3] != 0)
    return call.reject("the filters do not fit the input's channels", to_string(input), to_string(weights));
  CARINA_TRY(const Grid grid, grid_of(call, input, weights[1], weights[2]));
  CARINA_TRY(const std::vector<int64_t> bias, bias_of(call, at, channels));
  CARINA_TRY(const ValueId stored, weights_of(call, at));
  const ValueId filters = call.out.reshape(stored, Shape{weights[1], weights[2], input[3], channels / input[3]});
  ValueId total = emit_sum(call,
                           {.op = TosaOp::DEPTHWISE_CONV2D,
                            .input = call.value(0),
                            .weights = filters,
                            .bias = bias,
                            .input_zp = Call::zero_point(call.in(0)),
                            .weights_zp = weights_zero_point(call.in(1))},
                           grid, channels);
  if (has_narrow_bias(call, at)) {
    CARINA_TRY(total, narrow_sum(call, at, total, bias));
  }
  CARINA_TRY(const ValueId result, finish(call, at, total, kDoubleRound));
  return call.set(result);
}

// TRANSPOSE_CONV(output shape, weights, input, bias). Input element y adds to the results y * stride - before + k.
Result<void> transposed_convolution(Call& call) {
  const Operands at{.input = 2, .weights = 1, .bias = 3};
  CARINA_CHECKED(check_tensors(call, at, 4));
  const Shape input = call.in(2).shape, weights = call.in(1).shape, result_shape = call.result().shape;
  if (input[3] != weights[3] || result_shape.rank() != 4 || result_shape[3] != weights[0])
    return call.reject("the filters do not fit the channels", to_string(input), to_string(weights));
  const Options& o = call.options();
  const auto side = [&](int64_t in, int64_t made, int64_t kernel, int64_t stride) {
    const int64_t whole = (in - 1) * stride + kernel;
    const int64_t before = o.padding == Padding::kSame ? std::max<int64_t>(whole - made, 0) / 2 : 0;
    return Coverage{.results = made, .used = in, .before = -before, .after = made - whole + before};
  };
  if (o.stride_h < 1 || o.stride_w < 1) return call.reject("a stride below 1");
  const Grid grid{.rows = side(input[1], result_shape[1], weights[1], o.stride_h),
                  .columns = side(input[2], result_shape[2], weights[2], o.stride_w)};
  if (grid.rows.after <= -weights[1] || grid.columns.after <= -weights[2])
    return call.reject("the result is smaller than the padding allows", {}, to_string(result_shape));
  CARINA_TRY(const std::vector<int64_t> bias, bias_of(call, at, weights[0]));
  const DType type = sum_type(Call::type_of(call.in(2)));
  CARINA_TRY(const ValueId filters, weights_of(call, at));
  const ValueId values = call.value(2), biases = call.out.integers(type, bias);
  const ValueId input_zp = call.out.integer(call.out.dtype(values), Call::zero_point(call.in(2)));
  const ValueId weights_zp = call.out.integer(call.out.dtype(filters), weights_zero_point(call.in(1)));
  ValueId total = call.out.emit(
      TosaOp::TRANSPOSE_CONV2D, {values, filters, biases, input_zp, weights_zp},
      {{"out_pad", std::vector<int64_t>{grid.rows.before, grid.rows.after, grid.columns.before, grid.columns.after}},
       {"stride", std::vector<int64_t>{o.stride_h, o.stride_w}},
       {"local_bound", false},
       {"acc_type", type}},
      {.dtype = type, .shape = result_shape, .suffix = "sum"});
  if (has_narrow_bias(call, at)) {
    CARINA_TRY(total, narrow_sum(call, at, total, bias));
  }
  CARINA_TRY(const ValueId result, finish(call, at, total, kDoubleRound));
  return call.set(result);
}

// FULLY_CONNECTED(input, weights [N,K], bias): rows of K elements. As a convolution 1x1 of one row of pixels. LiteRT
// rounds the int8 sums once. The int16 sums are multiplied by all 31 bits of the multiplier, which TOSA has for int32
// only: the sums must fit.
Result<void> fully_connected(Call& call) {
  const Operands at{.is_matrix = true};
  CARINA_CHECKED(check_tensors(call, at, 0));
  if (call.options().weights_format != 0) return call.reject("shuffled weights are not supported");
  const Shape weights = call.in(1).shape;
  if (weights.rank() != 2) return call.reject("the weights are not a matrix", {}, to_string(weights));
  const int64_t depth = weights[1], channels = weights[0], elements = call.in(0).shape.elements();
  if (elements == 0 || elements % depth != 0)
    return call.reject("the input is not rows of the matrix", to_string(weights), to_string(call.in(0).shape));
  CARINA_TRY(const std::vector<int64_t> bias, bias_of(call, at, channels));
  CARINA_TRY(const ValueId stored, weights_of(call, at));
  const ValueId total = row_products(call, {.rows = call.value(0),
                                            .matrix = call.out.reshape(stored, Shape{channels, 1, 1, depth}),
                                            .bias = bias,
                                            .rows_zp = Call::zero_point(call.in(0)),
                                            .matrix_zp = weights_zero_point(call.in(1))});
  const int64_t rounding = call.rounding() == Rounding::kVela ? kDoubleRound : ir::kSingleRound;
  CARINA_TRY(const ValueId result, call.out.dtype(total) == DType::kInt48 ? finish_wide(call, at, total, bias)
                                                                          : finish(call, at, total, rounding));
  return call.set(result);
}

}  // namespace carina::tflite
