#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "frontend/tflite/to_tosa/call_internal.h"
#include "ir/graph.h"
#include "tensor/elements.h"

namespace carina::tflite {

using ir::ValueId;

carina::Tensor Call::graph_constant(const Tensor& tensor) {
  if (tensor.dtype != DType::kUInt8) return {.dtype = tensor.dtype, .shape = tensor.shape, .data = tensor.data};
  MutableTensor moved(DType::kInt8, tensor.shape);
  std::ranges::transform(tensor.data.bytes(), moved.bytes().begin(), [](std::byte b) { return b ^ std::byte{0x80}; });
  return std::move(moved).freeze();
}

DType Call::type_of(const Tensor& tensor) {
  if (is_pair(tensor)) return DType::kInt32;
  return tensor.dtype == DType::kUInt8 ? DType::kInt8 : tensor.dtype;
}

Shape Call::graph_shape(const Tensor& tensor) {
  if (!is_pair(tensor)) return tensor.shape;
  std::vector<int64_t> dims(tensor.shape.dims().begin(), tensor.shape.dims().end());
  dims.push_back(2);
  return Shape(dims);
}

ValueId Call::value(size_t i) {
  ValueId& known = builder_.values[static_cast<size_t>(op_.inputs[i])];
  if (!known.valid()) known = builder_.graph.add_constant(in(i).name, graph_constant(in(i)));
  return known;
}

Result<std::vector<int64_t>> Call::constant(size_t i, std::string_view what) const {
  if (!has(i)) return reject(fmt::format("operand {}, {}, is missing", i, what));
  const Tensor& tensor = in(i);
  if (!tensor.is_constant || tensor.data.size() == 0) {
    if (tensor.shape.elements() == 0) return std::vector<int64_t>();
    return reject(fmt::format("{} is not a constant", what), {}, tensor.name,
                  "convert the model with static shapes, so that the converter can compute it");
  }
  auto integers = integers_if_any({.dtype = tensor.dtype, .shape = tensor.shape, .data = tensor.data});
  if (!integers) return reject(fmt::format("{} has a type without integers", what), {}, tensor.type_name);
  return *std::move(integers);
}

Result<void> Call::set(size_t i, ValueId value) {
  const Tensor& tensor = result(i);
  ir::Graph& graph = builder_.graph;
  const Shape shape = graph_shape(tensor);
  if (graph[value].dtype != type_of(tensor))
    return reject("the result has another type than the file declares", std::string(name_of(graph[value].dtype)),
                  tensor.type_name);
  if (graph[value].shape.elements() != shape.elements())
    return reject("the result has another shape than the file declares", to_string(graph[value].shape),
                  to_string(tensor.shape));
  if (graph[value].shape != shape) value = out.reshape(value, shape);
  const bool is_named = is_among(builder_.values, value);
  if (!is_named && !graph[value].constant) graph.rename(value, tensor.name);
  builder_.values[static_cast<size_t>(op_.outputs[i])] = value;
  return {};
}

std::unexpected<Diagnostics> Call::reject(std::string what, std::string expected, std::string got,
                                          std::string hint) const {
  const std::string name = op_.outputs.empty() ? std::string() : " " + result().name;
  return fail({.where = fmt::format("{}: {}{}", builder_.where, op_.name, name),
               .what = std::move(what),
               .expected = std::move(expected),
               .got = std::move(got),
               .hint = std::move(hint)});
}

Result<void> Call::need(size_t n) const {
  if (op_.outputs.empty()) return reject("the operator has no result");
  for (size_t i = 0; i < n; ++i) {
    if (!has(i)) return reject(fmt::format("operand {} is missing", i));
  }
  return {};
}

Result<void> Call::need_type(const Tensor& tensor, std::span<const DType> types) const {
  if (tensor.is_sparse)
    return reject("a sparse tensor", "dense data", tensor.name, "convert the model without sparsity");
  if (is_among(types, tensor.dtype)) return {};
  std::string expected;
  for (const DType type : types) expected += fmt::format("{}{}", expected.empty() ? "" : " or ", name_of(type));
  const bool is_float_type = tensor.dtype == DType::kFp32 || tensor.dtype == DType::kFp16;
  return reject("the type of a tensor is not supported here", expected,
                fmt::format("{} {}", tensor.type_name, tensor.name),
                is_float_type ? "quantize the model to int8 with LiteRT's converter (full integer quantization)" : "");
}

Result<void> Call::need_quantized(const Tensor& tensor, std::span<const DType> types, ZeroPoint allowed) const {
  CARINA_CHECKED(need_type(tensor, types));
  if (tensor.quantization.scales.size() == 1 && tensor.quantization.scales.front() > 0) {
    const int64_t zero = zero_point(tensor);
    const IntegerRange range = range_of(type_of(tensor));
    if (zero >= range.min && zero <= range.max &&
        (tensor.dtype != DType::kInt16 || zero == 0 || allowed == ZeroPoint::kAny))
      return {};
    return reject("a zero point that the type does not have", {}, fmt::format("{}: {}", tensor.name, zero));
  }
  return reject("a tensor is not quantized with one scale", "one scale and one zero point",
                fmt::format("{}: {} scales", tensor.name, tensor.quantization.scales.size()),
                "quantize the model to int8 with LiteRT's converter (full integer quantization)");
}

ValueId Call::rescale(ValueId input, const Scaling& scaling) {
  const DType from = out.dtype(input);
  const bool wide = from == DType::kInt48;
  std::vector<int64_t> multipliers, shifts;
  int64_t rounding = ir::kSingleRound;
  for (const Multiplier& m : scaling.multipliers) {
    int64_t multiplier = m.multiplier;
    int shift = 31 - m.exponent;
    if (wide) {  // 16 bits of the multiplier remain
      multiplier = multiplier < 0x7fff0000 ? (multiplier + (1 << 15)) >> 16 : 0x7fff;
      shift = 15 - m.exponent;
    }
    if (multiplier == 0) shift = 31;
    multipliers.push_back(multiplier);
    shifts.push_back(shift);
    if (shift > 31 && !wide) rounding = scaling.rounding;
  }
  const ValueId multiplier = out.integers(wide ? DType::kInt16 : DType::kInt32, multipliers);
  const ValueId shift = out.integers(DType::kInt8, shifts);
  const ValueId input_zp = out.integer(from, scaling.input_zp), output_zp = out.integer(scaling.to, scaling.output_zp);
  return out.emit(TosaOp::RESCALE, {input, multiplier, shift, input_zp, output_zp},
                  {{"scale32", !wide},
                   {"rounding_mode", rounding},
                   {"per_channel", multipliers.size() > 1},
                   {"input_unsigned", false},
                   {"output_unsigned", false}},
                  {.dtype = scaling.to, .shape = out.shape(input), .suffix = "rescale"});
}

namespace {

constexpr Multiplier kIdentity{.multiplier = 1 << 30, .exponent = 1};

}  // namespace

ValueId Call::widened(ValueId input, int64_t zero_point) {
  if (zero_point == 0) return out.cast(input, DType::kInt32);
  return rescale(input, {.multipliers = {kIdentity}, .input_zp = zero_point, .to = DType::kInt32});
}

ValueId Call::narrowed(ValueId value, DType to, int64_t zero_point) {
  if (to != DType::kInt8 && zero_point != 0) {  // RESCALE has zero points of int8 only
    const ValueId offset = out.splat(DType::kInt32, static_cast<double>(zero_point), out.shape(value).rank());
    value = out.binary(TosaOp::ADD, value, offset);
    zero_point = 0;
  }
  return rescale(value, {.multipliers = {kIdentity}, .output_zp = zero_point, .to = to});
}

Result<ValueId> Call::activated(ValueId value) {
  const Activation activation = options().activation;
  if (activation == Activation::kTanh || activation == Activation::kSignBit)
    return reject("the fused activation is not supported", "none, RELU, RELU6 or RELU_N1_TO_1");
  const IntegerRange range = range_of(type_of(result()));
  const Limits limits =
      limits_of(activation, scale(result()), zero_point(result()), {.min = range.min, .max = range.max});
  if (limits.min > limits.max) return reject("the fused activation has no value in the result's range");
  if (limits.min == range.min && limits.max == range.max) return value;
  return out.clamp(value, limits.min, limits.max);
}

ValueId Call::looked_up(ValueId input, const std::function<int64_t(int64_t)>& function) {
  std::vector<int64_t> entries;
  for (int64_t x = -128; x <= 127; ++x) entries.push_back(std::clamp<int64_t>(function(x), -128, 127));
  const ValueId table = out.integers(DType::kInt8, entries);
  return out.emit(TosaOp::TABLE, {input, table}, {},
                  {.dtype = DType::kInt8, .shape = out.shape(input), .suffix = "table"});
}

}  // namespace carina::tflite
