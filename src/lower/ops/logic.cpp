// Lowers comparisons, logical and bitwise operators of two tensors, and selections.

#include <algorithm>
#include <cmath>

#include "facts/aten_traits.h"
#include "lower/lowering_internal.h"
#include "lower/ops/casts_internal.h"
#include "tensor/elements.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

// Two operands whose integers or floats can be compared.
struct Pair {
  ValueId a;
  ValueId b;
};

// The common type. A tensor without axes does not widen a tensor with axes, as in PyTorch's rule for mixed types.
DType common_type(const ir::Value& a, const ir::Value& b) {
  if (is_float(a.dtype) != is_float(b.dtype)) return tosa_type(is_float(a.dtype) ? a.dtype : b.dtype);
  if (!is_float(a.dtype)) return DType::kInt32;
  if (a.dtype == b.dtype || b.shape.rank() == 0) return tosa_type(a.dtype);
  return a.shape.rank() == 0 ? tosa_type(b.dtype) : DType::kFp32;
}

// The position of a real number among the multiples of `q`'s scale. It is between `down` and `up`, which are equal if
// the number is a multiple (up to the rounding of the scale). It may be outside of the range of `q`.
//   Example: scale 0.5, number 1.2: down = 2, up = 3.
struct Limit {
  int64_t down;
  int64_t up;
};
Limit limit_at(double real, const Quantization& q) {
  constexpr double kFar = 1 << 30, kRounding = 1e-3;
  const double steps = std::clamp(real / q.scale(), -kFar, kFar), nearest = std::nearbyint(steps);
  if (std::abs(steps - nearest) <= kRounding)
    return {.down = static_cast<int64_t>(nearest), .up = static_cast<int64_t>(nearest)};
  return {.down = static_cast<int64_t>(std::floor(steps)), .up = static_cast<int64_t>(std::ceil(steps))};
}

// The integer for the comparison: `down` for x > c and c >= x, `up` for x >= c and c > x. For an equality with a number
// between two multiples, it is an integer that no element has.
int64_t limit_of(TosaOp op, bool first, const Limit& limit) {
  constexpr int64_t kNever = int64_t{1} << 30;
  if (op == TosaOp::EQUAL) return limit.down == limit.up ? limit.down : kNever;
  return (op == TosaOp::GREATER) == first ? limit.up : limit.down;
}

// Quantizes a float constant with the scale of the other operand.
ValueId constant_in_steps(Lowering& in, TosaOp op, bool first, const ir::Value& value, const Quantization& q) {
  std::vector<int64_t> steps;
  for (const double real : dequantized_values(value)) steps.push_back(limit_of(op, first, limit_at(real, q)));
  return in.out.constant(value.name + "_steps", integer_tensor(DType::kInt32, value.shape, steps));
}

// Converts to int32, with `factor` per step of the scale.
ValueId widened(Lowering& in, ValueId id, double factor) {
  const int64_t zero_point = in.quantization(id).zero_point();
  return in.out.rescale(in.operand(id),
                        {.scales = {factor}, .input_zp = zero_point, .output_zp = 0, .to = DType::kInt32});
}

Pair quantized_pair(Lowering& in, TosaOp op, ValueId a, ValueId b) {
  if (!in.is_quantized(a))
    return {.a = constant_in_steps(in, op, true, in.value(a), in.quantization(b)), .b = widened(in, b, 1)};
  const Quantization& q = in.quantization(a);
  if (!in.is_quantized(b)) return {.a = widened(in, a, 1), .b = constant_in_steps(in, op, false, in.value(b), q)};
  const double other = in.quantization(b).scale(), largest = std::max(q.scale(), other);
  const int bits = alignment_log2(in.target.idioms, q.dtype, in.quantization(b).dtype);
  const double headroom = q.scale() == other ? 1 : std::ldexp(1.0, bits);
  return {.a = widened(in, a, q.scale() / largest * headroom), .b = widened(in, b, other / largest * headroom)};
}

Result<Pair> comparable(Lowering& in, const Node& node, TosaOp op) {
  const ValueId a = node.inputs[0], b = node.inputs[1];
  if (!in.is_quantized(a) && !in.is_quantized(b)) {
    const DType type = common_type(in.value(a), in.value(b));
    return Pair{.a = converted(in.out, in.operand(a), type), .b = converted(in.out, in.operand(b), type)};
  }
  for (const ValueId id : {a, b}) {
    const ir::Value& value = in.value(id);
    if (value.quantization) continue;
    if (!value.constant || !is_float(value.dtype))
      return fail(normalize::about(node, value.name + " is not quantized, what it is compared with is"));
    if (std::ranges::any_of(dequantized_values(value), [](double v) { return std::isnan(v); }))
      return fail(normalize::about(node, value.name + " is not a number (NaN)"));
  }
  return quantized_pair(in, op, a, b);
}

template <TosaOp kOp>
Result<ValueId> comparison(Lowering& in, const Node& node) {
  CARINA_TRY(const Pair pair, comparable(in, node, kOp));
  return in.out.compare(kOp, pair.a, pair.b);
}

template <TosaOp kOp>
Result<ValueId> logical(Lowering& in, const Node& node) {
  const auto flags = [&](size_t i) { return converted(in.out, in.operand(node.inputs[i]), DType::kBool); };
  if (node.inputs.size() == 1) return in.out.unary(kOp, flags(0));
  return in.out.compare(kOp, flags(0), flags(1));
}

ValueId in_type_of_result(Lowering& in, const Node& node, size_t index) {
  return converted(in.out, in.operand(node.inputs[index]), tosa_type(in.value(node.outputs[0]).dtype));
}

template <TosaOp kOfBits, TosaOp kOfBools>
Result<ValueId> bitwise(Lowering& in, const Node& node) {
  const bool bools = in.value(node.outputs[0]).dtype == DType::kBool;
  const TosaOp op = bools ? kOfBools : kOfBits;
  if (node.inputs.size() == 1) return in.out.unary(op, in_type_of_result(in, node, 0));
  const ValueId b = in_type_of_result(in, node, 1);
  return in.out.binary(op, in_type_of_result(in, node, 0), b);
}

// TOSA's shifts are less than the width of the type. A larger constant shift is split into two.
ValueId shifted(Lowering& in, TosaOp op, ValueId bits, ValueId amounts) {
  const std::optional<Tensor> given = in.out.graph()[amounts].constant;
  if (!given) return in.out.binary(op, bits, amounts);
  const int64_t max = row_of(given->dtype).bits - 1;
  std::vector<int64_t> first = integers_of(*given), rest;
  for (int64_t& n : first) {
    const int64_t whole = n < 0 ? max + 1 : n;
    n = std::min(whole, max);
    rest.push_back(std::min(whole - n, max));
  }
  const auto constant = [&](std::string_view suffix, const std::vector<int64_t>& values) {
    return in.out.constant(in.out.graph()[amounts].name + std::string(suffix),
                           integer_tensor(given->dtype, given->shape, values));
  };
  const ValueId result = in.out.binary(op, bits, constant(".amount", first));
  if (op == TosaOp::ARITHMETIC_RIGHT_SHIFT || std::ranges::all_of(rest, [](int64_t n) { return n == 0; }))
    return result;
  return in.out.binary(op, result, constant(".rest", rest));
}

template <TosaOp kOp>
Result<ValueId> shift(Lowering& in, const Node& node) {
  const ValueId amounts = in_type_of_result(in, node, 1);
  return shifted(in, kOp, in_type_of_result(in, node, 0), amounts);
}

// Rejects a float branch without quantization parameters beside a quantized result. Integer branches are converted to
// float before quantization, in normalize.
Rejected branches_fit(const Candidate& c) {
  if (!c.output().quantization) return std::nullopt;
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const ir::Value& branch = c.input(i);
    if (branch.quantization || branch.constant) continue;
    return rejected("types.mixed", branch.name + " is not quantized, the result is",
                    "convert it to float in the model: x.float()");
  }
  return std::nullopt;
}

// A branch of a selection, with the quantization of the result. A constant is quantized directly.
ValueId branch(Lowering& in, const Node& node, size_t index) {
  const ValueId id = node.inputs[index];
  if (!in.is_quantized(node)) return in_type_of_result(in, node, index);
  const Quantization& to = in.quantization(node.outputs[0]);
  const ir::Value& value = in.value(id);
  if (!value.constant) return in.requantize(in.operand(id), in.quantization(id), to);
  std::vector<int64_t> integers;
  for (const double real : dequantized_values(value)) integers.push_back(quantized(static_cast<float>(real), to));
  return in.out.constant(value.name, integer_tensor(to.dtype, value.shape, integers));
}

Result<ValueId> choose(Lowering& in, const Node& node) {
  CARINA_CHECKED(accepted(node, branches_fit(in.candidate(node))));
  const ValueId condition = converted(in.out, in.operand(node.inputs[0]), DType::kBool);
  const ValueId no = branch(in, node, 2);
  return in.out.select(condition, branch(in, node, 1), no);
}

Result<ValueId> any(Lowering& in, const Node& node) {
  ValueId result = converted(in.out, in.operand(node.inputs[0]), DType::kBool);
  for (const size_t axis : normalize::reduced_axes(node.attributes, "dim", in.shape(node.inputs[0]).rank()))
    result = in.out.reduce(TosaOp::REDUCE_ANY, result, axis);
  return in.out.reshape(result, in.shape(node.outputs[0]));
}

constexpr LoweringRow kLogicRows[] = {
    {.op = AtenOp::eq_Tensor, .integers = PlainIntegers::kAny, .legal = always, .lower = comparison<TosaOp::EQUAL>},
    {.op = AtenOp::gt_Tensor, .integers = PlainIntegers::kAny, .legal = always, .lower = comparison<TosaOp::GREATER>},
    {.op = AtenOp::ge_Tensor,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = comparison<TosaOp::GREATER_EQUAL>},
    {.op = AtenOp::logical_and_default,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = logical<TosaOp::LOGICAL_AND>},
    {.op = AtenOp::logical_or_default,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = logical<TosaOp::LOGICAL_OR>},
    {.op = AtenOp::logical_xor_default,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = logical<TosaOp::LOGICAL_XOR>},
    {.op = AtenOp::logical_not_default,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = logical<TosaOp::LOGICAL_NOT>},
    {.op = AtenOp::bitwise_and_Tensor,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = bitwise<TosaOp::BITWISE_AND, TosaOp::LOGICAL_AND>},
    {.op = AtenOp::bitwise_or_Tensor,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = bitwise<TosaOp::BITWISE_OR, TosaOp::LOGICAL_OR>},
    {.op = AtenOp::bitwise_xor_Tensor,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = bitwise<TosaOp::BITWISE_XOR, TosaOp::LOGICAL_XOR>},
    {.op = AtenOp::bitwise_not_default,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = bitwise<TosaOp::BITWISE_NOT, TosaOp::LOGICAL_NOT>},
    {.op = AtenOp::bitwise_left_shift_Tensor,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = shift<TosaOp::LOGICAL_LEFT_SHIFT>},
    {.op = AtenOp::bitwise_right_shift_Tensor,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = shift<TosaOp::ARITHMETIC_RIGHT_SHIFT>},
    {.op = AtenOp::where_self, .integers = PlainIntegers::kAny, .legal = branches_fit, .lower = choose},
    {.op = AtenOp::any_dims, .integers = PlainIntegers::kAny, .legal = always, .lower = any},
};
static_assert(lowers_all_of(kLogicRows, {AtenFamily::kLogic}));

}  // namespace

std::span<const LoweringRow> logic_rows() {
  return kLogicRows;
}

}  // namespace carina::lower
