#include "ir/emitter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "facts/tosa_row.h"
#include "tensor/elements.h"
#include "tensor/fixed_point.h"

namespace carina::ir {

using ir::Attributes;
using ir::ValueId;

namespace {

// Returns a 15-bit factor for the 48-bit accumulators of int16. Source: the RESCALE arithmetic of ExecuTorch's Arm
// backend.
ScaleFactor narrow_factor_of(double scale) {
  int exponent = 0;
  auto multiplier = static_cast<int32_t>(std::round(std::frexp(scale, &exponent) * (1 << 15)));
  if (multiplier == 1 << 15) {
    multiplier >>= 1;
    ++exponent;
  }
  return {.multiplier = static_cast<uint32_t>(multiplier), .shift = std::clamp(15 - exponent, 2, 62)};
}

// Limits a factor to the range of RESCALE, 0 to 2^28. A factor beyond the width of the result saturates all values but
// 0 anyway, and its products would exceed the 32 bits that RESCALE requires.
double representable(double scale, DType to) {
  const double largest = std::ldexp(1.0, element_bytes(to) <= 2 ? 8 * static_cast<int>(element_bytes(to)) : 28);
  return std::isfinite(scale) ? std::clamp(scale, 0.0, largest) : largest;
}

}  // namespace

ValueId Emitter::emit(TosaOp op, std::vector<ValueId> inputs, Attributes attributes, const Made& made) {
  return emit(op, std::move(inputs), std::move(attributes), std::span(&made, 1)).front();
}

std::vector<ValueId> Emitter::emit(TosaOp op, std::vector<ValueId> inputs, Attributes attributes,
                                   std::span<const Made> made) {
  std::vector<ValueId> outputs;
  for (const auto& [dtype, shape, suffix] : made)
    outputs.push_back(graph_.add_value(std::string(name_).append(".").append(suffix), dtype, shape));
  graph_.add_node({.op = op,
                   .name = name_,
                   .inputs = std::move(inputs),
                   .outputs = outputs,
                   .attributes = std::move(attributes),
                   .source = source_,
                   .origin = origin_});
  return outputs;
}

ValueId Emitter::integers(DType dtype, std::span<const int64_t> values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  if (values.size() > 4)
    return constant(fmt::format("{}.{}", name_, name_of(dtype)), integer_tensor(dtype, shape, values));
  const std::string name = fmt::format("{}.{}", name_of(dtype), fmt::join(values, "_"));
  const auto [entry, is_new] = constants_.try_emplace(name);
  if (is_new) entry->second = constant(name, integer_tensor(dtype, shape, values));
  return entry->second;
}

ValueId Emitter::shape_constant(std::span<const int64_t> values) {
  const std::string name = fmt::format("shape.{}", fmt::join(values, "_"));
  const auto [entry, is_new] = constants_.try_emplace(name);
  if (is_new) {
    entry->second = constant(name, integer_tensor(DType::kShape, Shape{static_cast<int64_t>(values.size())}, values));
  }
  return entry->second;
}

ValueId Emitter::splat(DType dtype, double value, size_t rank) {
  const Shape shape(std::vector<int64_t>(rank, 1));
  const std::string name = fmt::format("{}.{}.rank{}", name_of(dtype), value, rank);
  const auto [entry, is_new] = constants_.try_emplace(name);
  if (is_new) {
    entry->second =
        constant(name, is_float(dtype) ? float_tensor(dtype, shape, static_cast<float>(value))
                                       : integer_tensor(dtype, shape, std::vector{static_cast<int64_t>(value)}));
  }
  return entry->second;
}

ValueId Emitter::zero_point(DType dtype, int64_t value) {
  return is_float(dtype) ? splat(dtype, 0, 1) : integer(dtype, value);
}

ValueId Emitter::reshape(ValueId input, const Shape& shape) {
  if (graph_[input].shape == shape) return input;
  if (graph_[input].constant) {
    Tensor tensor = *graph_[input].constant;
    tensor.shape = shape;
    return constant(graph_[input].name + ".reshape", std::move(tensor));
  }
  const ValueId target = shape_constant(shape.dims());
  return emit(TosaOp::RESHAPE, {input, target}, {}, {.dtype = dtype(input), .shape = shape, .suffix = "reshape"});
}

ValueId Emitter::with_rank(ValueId input, size_t rank) {
  const auto dims = graph_[input].shape.dims();
  if (dims.size() >= rank) return input;
  std::vector<int64_t> padded(rank - dims.size(), 1);
  padded.insert(padded.end(), dims.begin(), dims.end());
  return reshape(input, Shape(padded));
}

ValueId Emitter::transpose(ValueId input, const std::vector<int64_t>& perms) {
  if (std::ranges::is_sorted(perms)) return input;
  Shape result = shape(input);
  for (size_t i = 0; i < perms.size(); ++i) result[i] = shape(input)[static_cast<size_t>(perms[i])];
  return emit(TosaOp::TRANSPOSE, {input}, {{"perms", perms}},
              {.dtype = dtype(input), .shape = result, .suffix = "transpose"});
}

ValueId Emitter::slice(ValueId input, const std::vector<int64_t>& start, const Shape& size) {
  if (shape(input) == size) return input;
  const ValueId first = shape_constant(start), count = shape_constant(size.dims());
  return emit(TosaOp::SLICE, {input, first, count}, {}, {.dtype = dtype(input), .shape = size, .suffix = "slice"});
}

ValueId Emitter::tile(ValueId input, const Shape& result) {
  input = with_rank(input, result.rank());
  const Shape from = shape(input);
  std::vector<int64_t> multiples;
  for (size_t axis = 0; axis < result.rank(); ++axis)
    multiples.push_back(from[axis] == 0 ? 1 : result[axis] / from[axis]);
  if (std::ranges::all_of(multiples, [](int64_t n) { return n == 1; })) return input;
  const ValueId counts = shape_constant(multiples);
  return emit(TosaOp::TILE, {input, counts}, {}, {.dtype = dtype(input), .shape = result, .suffix = "tile"});
}

ValueId Emitter::pad(ValueId input, const std::vector<int64_t>& padding, double value) {
  if (std::ranges::all_of(padding, [](int64_t n) { return n == 0; })) return input;
  Shape result = shape(input);
  for (size_t axis = 0; axis < result.rank(); ++axis) result[axis] += padding[2 * axis] + padding[2 * axis + 1];
  const DType type = dtype(input);
  const ValueId fill = is_float(type) ? splat(type, value, 1) : integer(type, static_cast<int64_t>(value));
  const ValueId amounts = shape_constant(padding);
  return emit(TosaOp::PAD, {input, amounts, fill}, {}, {.dtype = type, .shape = result, .suffix = "pad"});
}

ValueId Emitter::rescale(ValueId input, const Rescaling& rescaling) {
  const DType from = dtype(input);
  const bool wide = from == DType::kInt48;
  std::vector<int64_t> multipliers, shifts;
  for (const double scale : rescaling.scales) {
    const double real = representable(scale, rescaling.to);
    const ScaleFactor factor = wide ? narrow_factor_of(real) : scale_factor_of(real);
    multipliers.push_back(factor.multiplier);
    shifts.push_back(factor.shift);
  }
  const ValueId multiplier = integers(wide ? DType::kInt16 : DType::kInt32, multipliers);
  const ValueId shift = integers(DType::kInt8, shifts);
  // Narrowing an unsigned zero point keeps its bits.
  const ValueId input_zp = integer(from, rescaling.input_zp), output_zp = integer(rescaling.to, rescaling.output_zp);
  return emit(TosaOp::RESCALE, {input, multiplier, shift, input_zp, output_zp},
              {{"scale32", !wide},
               {"rounding_mode", kSingleRound},
               {"per_channel", rescaling.scales.size() > 1},
               {"input_unsigned", rescaling.from_unsigned},
               {"output_unsigned", rescaling.to_unsigned}},
              {.dtype = rescaling.to, .shape = shape(input), .suffix = "rescale"});
}

ValueId Emitter::clamp(ValueId input, const ir::Attribute& min, const ir::Attribute& max) {
  return emit(TosaOp::CLAMP, {input}, {{"min_val", min}, {"max_val", max}, {"nan_mode", kNanPropagate}},
              {.dtype = dtype(input), .shape = shape(input), .suffix = "clamp"});
}

ValueId Emitter::unary(TosaOp op, ValueId input) {
  return emit(op, {input}, {}, {.dtype = dtype(input), .shape = shape(input), .suffix = "out"});
}

ValueId Emitter::elementwise(TosaOp op, ValueId a, ValueId b, DType made) {
  const size_t rank = std::max(shape(a).rank(), shape(b).rank());
  a = with_rank(a, rank);
  b = with_rank(b, rank);
  const auto result = broadcast(shape(a), shape(b));
  CARINA_CHECK(result.has_value(), "{} and {} in {}", to_string(shape(a)), to_string(shape(b)), name_);
  std::vector<ValueId> inputs{a, b};
  Attributes attributes;
  if (op == TosaOp::MUL) inputs.push_back(integer(DType::kInt8, 0));
  if (op == TosaOp::MAXIMUM || op == TosaOp::MINIMUM) attributes.set("nan_mode", kNanPropagate);
  if (op == TosaOp::ARITHMETIC_RIGHT_SHIFT) attributes.set("round", false);
  return emit(op, std::move(inputs), std::move(attributes), {.dtype = made, .shape = *result, .suffix = "out"});
}

ValueId Emitter::binary(TosaOp op, ValueId a, ValueId b) {
  return elementwise(op, a, b, dtype(a));
}

ValueId Emitter::compare(TosaOp op, ValueId a, ValueId b) {
  return elementwise(op, a, b, DType::kBool);
}

ValueId Emitter::select(ValueId condition, ValueId yes, ValueId no) {
  const size_t rank = std::max({shape(condition).rank(), shape(yes).rank(), shape(no).rank()});
  const std::vector<ValueId> inputs{with_rank(condition, rank), with_rank(yes, rank), with_rank(no, rank)};
  const auto values = broadcast(shape(inputs[1]), shape(inputs[2]));
  CARINA_CHECK(values.has_value(), "{} and {} in {}", to_string(shape(yes)), to_string(shape(no)), name_);
  const auto result = broadcast(shape(inputs[0]), *values);
  CARINA_CHECK(result.has_value(), "{} and {} in {}", to_string(shape(condition)), to_string(*values), name_);
  return emit(TosaOp::SELECT, inputs, {}, {.dtype = dtype(yes), .shape = *result, .suffix = "select"});
}

ValueId Emitter::reduce(TosaOp op, ValueId input, size_t axis) {
  Shape result = shape(input);
  result[axis] = 1;
  Attributes attributes{{"axis", static_cast<int64_t>(axis)}};
  if (op == TosaOp::REDUCE_MAX || op == TosaOp::REDUCE_MIN) attributes.set("nan_mode", kNanPropagate);
  return emit(op, {input}, std::move(attributes), {.dtype = dtype(input), .shape = result, .suffix = "reduce"});
}

ValueId Emitter::concat(const std::vector<ValueId>& inputs, size_t axis) {
  if (inputs.size() == 1) return inputs.front();
  constexpr auto kMaxInputs = static_cast<size_t>(kTosaLevel8K.max_tensor_list_size);
  if (inputs.size() > kMaxInputs) {
    std::vector<ValueId> parts;
    for (size_t i = 0; i < inputs.size(); i += kMaxInputs) {
      const auto first = inputs.begin() + static_cast<std::ptrdiff_t>(i);
      parts.push_back(
          concat({first, first + static_cast<std::ptrdiff_t>(std::min(kMaxInputs, inputs.size() - i))}, axis));
    }
    return concat(parts, axis);
  }
  Shape result = shape(inputs.front());
  for (size_t i = 1; i < inputs.size(); ++i) result[axis] += shape(inputs[i])[axis];
  return emit(TosaOp::CONCAT, inputs, {{"axis", static_cast<int64_t>(axis)}},
              {.dtype = dtype(inputs.front()), .shape = result, .suffix = "concat"});
}

ValueId Emitter::cast(ValueId input, DType to) {
  if (dtype(input) == to) return input;
  const auto is_half = [](DType type) { return type == DType::kFp16 || type == DType::kBf16; };
  if (is_half(dtype(input)) && is_half(to)) input = cast(input, DType::kFp32);  // TOSA has no direct conversion
  return emit(TosaOp::CAST, {input}, {}, {.dtype = to, .shape = shape(input), .suffix = "cast"});
}

}  // namespace carina::ir
