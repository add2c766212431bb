// Convolutions and linear: CONV2D or DEPTHWISE_CONV2D with constant weights, then a RESCALE per output channel.

#include <algorithm>
#include <cmath>

#include "facts/aten_traits.h"
#include "lower/ops/window_internal.h"
#include "tensor/elements.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

// Weights and bias as TOSA takes them, and the factor of each output channel from accumulator to output (integers
// only).
struct Parameters {
  Tensor weight;  // ATen's layout, integers or floats
  Tensor bias;    // [OC], in the accumulator's type
  std::vector<double> scales;
};

DType accumulator_of(DType activation) {
  if (activation == DType::kInt16) return DType::kInt48;
  return activation == DType::kInt8 ? DType::kInt32 : DType::kFp32;
}

// The type of what a convolution gives: of floats their own, of integers the accumulator's.
DType result_of(DType activation) {
  return is_float(activation) ? activation : accumulator_of(activation);
}

// A bias given as integers whose scale is s_in * s_w (to the precision of a float32 product) is taken as it is; any
// other is rounded to that scale.
Tensor integer_bias(const Lowering& in, ValueId id, const std::vector<double>& steps, DType accumulator) {
  const Shape shape{static_cast<int64_t>(steps.size())};
  if (!id.valid()) return integer_tensor(accumulator, shape, std::vector<int64_t>(steps.size(), 0));
  const ir::Value& value = in.value(id);
  const auto& q = value.quantization;
  const bool integers = q && value.constant->dtype != DType::kFp32;
  const auto matches = [&](size_t c) {
    return std::abs(q->scales[q->per_channel() ? c : 0] - steps[c]) <= 1e-5 * steps[c];
  };
  std::vector<int64_t> bias = integers ? integers_of(*value.constant) : std::vector<int64_t>(steps.size());
  const std::vector<double> reals = real_values(value);
  const auto largest = static_cast<double>(range_of(accumulator).max);
  for (size_t c = 0; c < steps.size(); ++c) {
    if (integers && matches(c)) continue;
    bias[c] = static_cast<int64_t>(std::clamp(std::round(reals[c] / steps[c]), -largest, largest));
  }
  return integer_tensor(accumulator, shape, bias);
}

Tensor float_bias(const Lowering& in, ValueId id, DType type, int64_t channels) {
  if (id.valid()) return *in.value(id).constant;
  return float_tensor(type, Shape{channels}, 0.0F);
}

Result<Parameters> parameters_of(const Lowering& in, const Node& node) {
  const ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : ValueId();
  CARINA_CHECKED(accepted(node, check_weights(in.candidate(node))));
  const ir::Value& weight = in.value(node.inputs[1]);
  const int64_t channels = weight.shape[0];
  if (!in.is_quantized(node))
    return Parameters{
        .weight = *weight.constant, .bias = float_bias(in, bias, weight.constant->dtype, channels), .scales = {}};
  const double input_scale = in.quantization(node.inputs[0]).scale(),
               output_scale = in.quantization(node.outputs[0]).scale();
  std::vector<double> steps, scales;
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    const double weight_scale = weight.quantization->scales[weight.quantization->per_channel() ? c : 0];
    steps.push_back(input_scale * weight_scale);
    scales.push_back(steps.back() / output_scale);
  }
  if (!weight.quantization->per_channel()) scales.resize(1);
  const DType accumulator = accumulator_of(in.quantization(node.inputs[0]).dtype);
  return Parameters{.weight = quantized_constant(weight),
                    .bias = integer_bias(in, bias, steps, accumulator),
                    .scales = std::move(scales)};
}

// Weight layouts. Copies element by element, once per compilation.
template <typename T>
void reorder(std::span<const T> from, std::span<T> to, const Shape& shape, const std::array<size_t, 4>& order) {
  std::array<int64_t, 4> stride{shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
  size_t next = 0;
  for (int64_t a = 0; a < shape[order[0]]; ++a) {
    for (int64_t b = 0; b < shape[order[1]]; ++b) {
      for (int64_t c = 0; c < shape[order[2]]; ++c) {
        const int64_t base = a * stride[order[0]] + b * stride[order[1]] + c * stride[order[2]];
        for (int64_t d = 0; d < shape[order[3]]; ++d)
          to[next++] = from[static_cast<size_t>(base + d * stride[order[3]])];
      }
    }
  }
}

// `shape` is the four-dimensional reading of the tensor, `order` the source axis of each result axis.
Tensor reordered(const Tensor& tensor, const Shape& shape, const std::array<size_t, 4>& order) {
  MutableTensor result(tensor.dtype, Shape{shape[order[0]], shape[order[1]], shape[order[2]], shape[order[3]]});
  if (element_bytes(tensor.dtype) == 1)
    reorder<int8_t>(tensor.values<int8_t>(), result.values<int8_t>(), shape, order);
  else if (element_bytes(tensor.dtype) == 2)
    reorder<uint16_t>(tensor.values<uint16_t>(), result.values<uint16_t>(), shape, order);
  else
    reorder<float>(tensor.values<float>(), result.values<float>(), shape, order);
  return std::move(result).freeze();
}

// The part of a list that belongs to one group of channels.
Tensor rows_of(const Tensor& tensor, int64_t first, int64_t count) {
  Shape shape = tensor.shape;
  const size_t row_bytes = tensor.data.size() / static_cast<size_t>(std::max<int64_t>(shape[0], 1));
  shape[0] = count;
  return {.dtype = tensor.dtype,
          .shape = shape,
          .data = tensor.data.slice(static_cast<size_t>(first) * row_bytes, static_cast<size_t>(count) * row_bytes)};
}

struct Geometry {
  std::vector<int64_t> pad;
  std::vector<int64_t> stride;
  std::vector<int64_t> dilation;
  Shape result;  // [N,OH,OW,OC]
};

ValueId convolve(Lowering& in, TosaOp op, ValueId input, ValueId weight, ValueId bias, int64_t input_zp,
                 const Geometry& geometry) {
  Emitter& out = in.out;
  const DType type = out.dtype(input);
  const ValueId in_zp = out.zero_point(type, input_zp), weight_zp = out.zero_point(out.dtype(weight), 0);
  return out.emit(op, {input, weight, bias, in_zp, weight_zp},
                  {{"pad", geometry.pad},
                   {"stride", geometry.stride},
                   {"dilation", geometry.dilation},
                   {"local_bound", false},
                   {"acc_type", accumulator_of(type)}},
                  {.dtype = result_of(type), .shape = geometry.result, .suffix = "acc"});
}

// From the accumulator to the node's output type.
ValueId scaled(Lowering& in, const Node& node, ValueId accumulator, const std::vector<double>& scales) {
  if (!in.is_quantized(node)) return accumulator;
  const Quantization& q = in.quantization(node.outputs[0]);
  return in.within_range(
      in.out.rescale(accumulator, {.scales = scales, .input_zp = 0, .output_zp = q.zero_point(), .to = q.dtype}), q);
}

int64_t input_zero_point(const Lowering& in, const Node& node) {
  return in.is_quantized(node) ? in.quantization(node.inputs[0]).zero_point() : 0;
}

// OIHW -> OHWI
ValueId dense_weight(Lowering& in, const Tensor& weight, const std::string& name) {
  return in.out.constant(name + ".ohwi", reordered(weight, weight.shape, {0, 2, 3, 1}));
}

// [C*M,1,KH,KW] -> [KH,KW,C,M]
ValueId depthwise_weight(Lowering& in, const Tensor& weight, const std::string& name, int64_t channels) {
  const Shape& s = weight.shape;
  const Shape split{channels, s[0] / channels, s[2], s[3]};
  return in.out.constant(name + ".hwcm", reordered(weight, split, {2, 3, 0, 1}));
}

// Groups that are not single channels: each is a convolution of its own on its part of the channels.
ValueId grouped(Lowering& in, const Node& node, ValueId input, const Parameters& parameters, const Geometry& geometry,
                int64_t groups) {
  const std::string& name = in.value(node.inputs[1]).name;
  const Shape shape = in.out.shape(input);
  const int64_t in_count = shape[3] / groups, out_count = geometry.result[3] / groups;
  Shape part = shape;
  part[3] = in_count;
  Geometry one = geometry;
  one.result[3] = out_count;
  std::vector<ValueId> results;
  for (int64_t g = 0; g < groups; ++g) {
    const ValueId channels = in.out.slice(input, {0, 0, 0, g * in_count}, part);
    const ValueId weight = dense_weight(in, rows_of(parameters.weight, g * out_count, out_count), name);
    const ValueId bias = in.out.constant(node.name + ".bias", rows_of(parameters.bias, g * out_count, out_count));
    const ValueId sum = convolve(in, TosaOp::CONV2D, channels, weight, bias, input_zero_point(in, node), one);
    std::vector<double> scales = parameters.scales;
    if (scales.size() > 1)
      scales.assign(parameters.scales.begin() + g * out_count, parameters.scales.begin() + (g + 1) * out_count);
    results.push_back(scaled(in, node, sum, scales));
  }
  return in.out.concat(results, 3);
}

Result<ValueId> conv2d(Lowering& in, const Node& node) {
  CARINA_TRY(const Parameters parameters, parameters_of(in, node));
  const ir::Attributes& attributes = node.attributes;
  const Shape result = in.shape(node.outputs[0]);
  const auto& padding = attributes.integers("padding");
  const WindowPlan plan = plan_windows({.kernel = {parameters.weight.shape[2], parameters.weight.shape[3]},
                                        .stride = attributes.integers("stride"),
                                        .dilation = attributes.integers("dilation"),
                                        .pad = {padding[0], padding[0], padding[1], padding[1]}},
                                       in.shape(node.inputs[0]), result);
  const ValueId image = trimmed(in.out, in.out.to_nhwc(in.operand(node.inputs[0])), plan);
  const Geometry geometry{.pad = plan.pad,
                          .stride = plan.stride,
                          .dilation = attributes.integers("dilation"),
                          .result = Shape{result[0], result[2], result[3], result[1]}};
  const int64_t groups = attributes.integer("groups"), channels = in.shape(node.inputs[0])[1];
  const std::string& name = in.value(node.inputs[1]).name;
  if (groups > 1 && groups != channels) return in.out.to_nchw(grouped(in, node, image, parameters, geometry, groups));
  const bool depthwise = groups > 1;
  const ValueId weight =
      depthwise ? depthwise_weight(in, parameters.weight, name, channels) : dense_weight(in, parameters.weight, name);
  const ValueId bias = in.out.constant(node.name + ".bias", parameters.bias);
  const TosaOp op = depthwise ? TosaOp::DEPTHWISE_CONV2D : TosaOp::CONV2D;
  const ValueId sum = convolve(in, op, image, weight, bias, input_zero_point(in, node), geometry);
  return in.out.to_nchw(scaled(in, node, sum, parameters.scales));
}

// [...,K] with weights [N,K]: a 1x1 convolution over an image as high as there are rows.
Result<ValueId> linear(Lowering& in, const Node& node) {
  CARINA_TRY(const Parameters parameters, parameters_of(in, node));
  const Shape from = in.shape(node.inputs[0]), result = in.shape(node.outputs[0]);
  const int64_t depth = parameters.weight.shape[1], channels = parameters.weight.shape[0];
  if (from.rank() == 0 || depth == 0) return fail(about(node, "linear on a scalar or on no features"));
  const int64_t rows = from.elements() / depth;
  const ValueId image = in.out.reshape(in.operand(node.inputs[0]), Shape{1, rows, 1, depth});
  Tensor kernel = parameters.weight;
  kernel.shape = Shape{channels, 1, 1, depth};
  const ValueId weight = in.out.constant(in.value(node.inputs[1]).name + ".ohwi", kernel);
  const ValueId bias = in.out.constant(node.name + ".bias", parameters.bias);
  const Geometry geometry{
      .pad = {0, 0, 0, 0}, .stride = {1, 1}, .dilation = {1, 1}, .result = Shape{1, rows, 1, channels}};
  const ValueId sum = convolve(in, TosaOp::CONV2D, image, weight, bias, input_zero_point(in, node), geometry);
  return in.out.reshape(scaled(in, node, sum, parameters.scales), result);
}

Refused conv2d_fits(const Candidate& c) {
  const Shape& weight = c.input(1).shape;
  return first_of(
      {check_weights(c), check_axes(c, c.input(0)), check_axes(c, c.output()),
       check_kernel(c, {weight[2], weight[3]}, c.node.attributes.integers("dilation"), c.target.limits.kernel),
       check_stride(c, c.node.attributes.integers("stride"))});
}

Refused linear_fits(const Candidate& c) {
  return first_of({check_weights(c), check_axes(c, c.input(1))});
}

constexpr LoweringRow kConvolutionRows[] = {
    {.op = AtenOp::conv2d_default, .integers = PlainIntegers::kNone, .legal = conv2d_fits, .lower = conv2d},
    {.op = AtenOp::linear_default, .integers = PlainIntegers::kNone, .legal = linear_fits, .lower = linear},
};
static_assert(lowers_all_of(kConvolutionRows, {AtenFamily::kConvolution}));

}  // namespace

std::span<const LoweringRow> convolution_rows() {
  return kConvolutionRows;
}

}  // namespace carina::lower
