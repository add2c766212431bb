// The integer weights and biases of convolutions and linear layers, and the scales of their accumulators.

#include <algorithm>
#include <cmath>

#include "lower/ops/casts_internal.h"
#include "lower/ops/convolution_internal.h"
#include "tensor/elements.h"
#include "tensor/float_formats.h"
#include "tensor/permutation.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

// TOSA accumulates fp8 in fp16 only.
bool is_fp8(DType type) {
  return type == DType::kFp8E4M3 || type == DType::kFp8E5M2;
}

DType accumulator_of(DType activation) {
  if (activation == DType::kInt16) return DType::kInt48;
  if (activation == DType::kInt8) return DType::kInt32;
  return is_fp8(activation) ? DType::kFp16 : DType::kFp32;
}

// The result type of a convolution: the activation type for floats, the accumulator type for integers. Delegates
// compute fp64 as fp32.
DType sum_of(DType activation) {
  if (activation == DType::kFp64) return DType::kFp32;
  return is_float(activation) && !is_fp8(activation) ? activation : accumulator_of(activation);
}

// The integers of a bias. An integer bias with scale s_in * s_w (to the precision of a float32 product) is used as it
// is; any other bias is rounded to that scale.
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
  const std::vector<double> floats = dequantized_values(value);
  const auto largest = static_cast<double>(range_of(accumulator).max);
  for (size_t c = 0; c < steps.size(); ++c) {
    if (integers && matches(c)) continue;
    bias[c] = static_cast<int64_t>(std::clamp(std::round(floats[c] / steps[c]), -largest, largest));
  }
  return integer_tensor(accumulator, shape, bias);
}

// Converts a constant of an 8-bit float type to fp16, which holds all its values.
Tensor fp8_to_fp16(const Tensor& constant) {
  std::vector<uint16_t> values;
  for (const uint8_t bits : constant.values<uint8_t>())
    values.push_back(fp32_to_fp16(constant.dtype == DType::kFp8E4M3 ? fp8e4m3_to_fp32(bits) : fp8e5m2_to_fp32(bits)));
  return Tensor::of<uint16_t>(DType::kFp16, constant.shape, values);
}

ValueId float_bias(Lowering& in, const Node& node, ValueId id, DType type, int64_t channels) {
  const std::string name = node.name + ".bias";
  if (!id.valid()) return in.out.constant(name, float_tensor(type, Shape{channels}, 0.0F));
  const ir::Value& bias = in.value(id);
  if (bias.constant && bias.dtype == type) return in.out.constant(name, *bias.constant);
  if (bias.constant && is_fp8(bias.dtype) && type == DType::kFp16)
    return in.out.constant(name, fp8_to_fp16(*bias.constant));
  return in.out.cast(in.operand(id), type);
}

}  // namespace

Result<ConvolutionOperands> convolution_operands(Lowering& in, const Node& node, const OutputChannels& channels) {
  const ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : ValueId();
  const ir::Value& weight = in.value(node.inputs[1]);
  const int64_t of_group = weight.shape[channels.axis], count = of_group * channels.groups;
  ConvolutionOperands operands{.weight = in.operand(node.inputs[1]), .bias = {}, .scales = {}};
  if (!in.is_quantized(node)) {
    operands.bias = float_bias(in, node, bias, sum_of(in.out.dtype(operands.weight)), count);
    return operands;
  }
  CARINA_CHECKED(accepted(node, check_quantized_weights(in.candidate(node), channels.axis)));
  const Quantization &input = in.quantization(node.inputs[0]), &q = *weight.quantization;
  const double output_scale = in.quantization(node.outputs[0]).scale();
  std::vector<double> steps;
  for (int64_t c = 0; c < count; ++c) {
    steps.push_back(input.scale() * q.scales[q.per_channel() ? static_cast<size_t>(c % of_group) : 0]);
    operands.scales.push_back(steps.back() / output_scale);
  }
  if (!q.per_channel()) operands.scales.resize(1);
  operands.bias = in.out.constant(node.name + ".bias", integer_bias(in, bias, steps, accumulator_of(input.dtype)));
  operands.input_zp = input.zero_point();
  operands.weight_zp = q.zero_points.front();
  return operands;
}

ValueId part_of(Lowering& in, ValueId value, size_t axis, int64_t first, int64_t count) {
  Shape size = in.out.shape(value);
  const auto& constant = in.out.graph()[value].constant;
  if (constant && axis == 0) {
    const size_t row_bytes = constant->data.size() / static_cast<size_t>(std::max<int64_t>(size[0], 1));
    size[0] = count;
    const Tensor rows{
        .dtype = constant->dtype,
        .shape = size,
        .data = constant->data.slice(static_cast<size_t>(first) * row_bytes, static_cast<size_t>(count) * row_bytes)};
    return in.out.constant(in.out.graph()[value].name, rows);
  }
  std::vector<int64_t> start(size.rank(), 0);
  start[axis] = first;
  size[axis] = count;
  return in.out.slice(value, start, size);
}

ConvolutionOperands group_of(Lowering& in, const ConvolutionOperands& operands, int64_t group, int64_t groups) {
  const int64_t rows = in.out.shape(operands.weight)[0] / groups, channels = in.out.shape(operands.bias)[0] / groups;
  ConvolutionOperands part = operands;
  part.weight = part_of(in, operands.weight, 0, group * rows, rows);
  part.bias = part_of(in, operands.bias, 0, group * channels, channels);
  if (part.scales.size() > 1)
    part.scales.assign(operands.scales.begin() + group * channels, operands.scales.begin() + (group + 1) * channels);
  return part;
}

ValueId reordered_weight(Lowering& in, ValueId weight, const std::vector<int64_t>& perms, const std::string& name) {
  const auto constant = in.out.graph()[weight].constant;
  return constant ? in.out.constant(name, permuted(*constant, perms)) : in.out.transpose(weight, perms);
}

ValueId convolve(Lowering& in, TosaOp op, ValueId image, const ConvolutionOperands& operands, ValueId weight,
                 ir::Attributes window, const Shape& result) {
  ir::Emitter& out = in.out;
  const DType type = out.dtype(image);
  const ValueId in_zp = out.zero_point(type, operands.input_zp),
                weight_zp = out.zero_point(out.dtype(weight), operands.weight_zp);
  window.set("local_bound", false);
  window.set("acc_type", accumulator_of(type));
  return out.emit(op, {image, weight, operands.bias, in_zp, weight_zp}, std::move(window),
                  {.dtype = sum_of(type), .shape = result, .suffix = "acc"});
}

ValueId scaled(Lowering& in, const Node& node, ValueId accumulator, const std::vector<double>& scales) {
  if (!in.is_quantized(node)) return in.out.cast(accumulator, tosa_type(in.value(node.outputs[0]).dtype));
  const Quantization& q = in.quantization(node.outputs[0]);
  return in.within_range(
      in.out.rescale(accumulator, {.scales = scales, .input_zp = 0, .output_zp = q.zero_point(), .to = q.dtype}), q);
}

}  // namespace carina::lower
