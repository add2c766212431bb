// Lowers sums, differences, products and extrema of two tensors.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "facts/aten_traits.h"
#include "lower/lowering_internal.h"
#include "lower/ops/casts_internal.h"
#include "lower/ops/float_functions_internal.h"
#include "tensor/elements.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

// An operand of a quantized node: its integers and their quantization.
struct Integers {
  ValueId value;
  double scale;
  int64_t zero_point;
};

// Quantizes a float constant to int8 with zero point 0. This is exact for a scalar and for elements of equal magnitude.
Integers symmetric_constant(Lowering& in, const ir::Value& value, DType dtype) {
  const std::vector<double> floats = dequantized_values(value);
  const auto limit = static_cast<double>(range_of(dtype).max);
  double largest = 0;
  for (const double real : floats) largest = std::max(largest, std::abs(real));
  const double scale = largest > 0 ? largest / limit : 1.0;
  std::vector<int64_t> integers;
  for (const double real : floats)
    integers.push_back(static_cast<int64_t>(std::clamp(std::round(real / scale), -limit, limit)));
  return {.value = in.out.constant(value.name, integer_tensor(dtype, value.shape, integers)),
          .scale = scale,
          .zero_point = 0};
}

// Reshapes the operand to the rank of the result first, so that the widening and the operation are adjacent.
Integers integers_of_operand(Lowering& in, const Node& node, size_t index) {
  const ir::Value& value = in.value(node.inputs[index]);
  const ir::ValueId other = node.inputs[1 - index];
  Integers integers =
      !value.quantization
          ? symmetric_constant(in, value, in.quantization(in.is_quantized(other) ? other : node.outputs[0]).dtype)
          : Integers{.value = in.operand(node.inputs[index]),
                     .scale = value.quantization->scale(),
                     .zero_point = value.quantization->zero_point()};
  integers.value = in.out.with_rank(integers.value, in.shape(node.outputs[0]).rank());
  return integers;
}

// The same numbers in int16, exactly: -128 and 127 with any zero point, times 128, are within its range. An NPU takes
// two operands of one width; of other widths, each would become int32 in an operation of its own, as would the result.
Integers in_16_bits(Lowering& in, const Integers& narrow) {
  constexpr double kFactor = 128;
  return {.value = in.out.rescale(
              narrow.value, {.scales = {kFactor}, .input_zp = narrow.zero_point, .output_zp = 0, .to = DType::kInt16}),
          .scale = narrow.scale / kFactor,
          .zero_point = 0};
}

struct Operands {
  Integers a;
  Integers b;
};

Operands operands_of(Lowering& in, const Node& node) {
  Operands both{.a = integers_of_operand(in, node, 0), .b = integers_of_operand(in, node, 1)};
  const auto has = [&](const Integers& operand, DType type) { return in.out.dtype(operand.value) == type; };
  if (!in.target.idioms.operands_of_one_width) return both;
  if (has(both.a, DType::kInt8) && has(both.b, DType::kInt16)) both.a = in_16_bits(in, both.a);
  if (has(both.b, DType::kInt8) && has(both.a, DType::kInt16)) both.b = in_16_bits(in, both.b);
  return both;
}

// The operands in int32 on one scale. If the scales differ, the operand with the larger scale is multiplied by the
// target's power of two, and the other by its ratio to that. Equal scales need no factor.
struct Aligned {
  ValueId a;
  ValueId b;
  double scale;  // of both operands
};

Aligned align(Lowering& in, const Node& node) {
  const auto [a, b] = operands_of(in, node);
  const double largest = std::max(a.scale, b.scale);
  const int bits =
      a.scale == b.scale ? 0 : alignment_log2(in.target.idioms, in.out.dtype(a.value), in.out.dtype(b.value));
  const double headroom = std::ldexp(1.0, bits);
  const auto widened = [&](const Integers& operand) {
    return in.out.rescale(operand.value, {.scales = {operand.scale / largest * headroom},
                                          .input_zp = operand.zero_point,
                                          .output_zp = 0,
                                          .to = DType::kInt32});
  };
  const ValueId first = widened(a);
  const bool twice = a.value == b.value && a.scale == b.scale && a.zero_point == b.zero_point;
  return {.a = first, .b = twice ? first : widened(b), .scale = largest / headroom};
}

ValueId narrowed(Lowering& in, const Node& node, ValueId wide, double scale) {
  const Quantization& q = in.quantization(node.outputs[0]);
  return in.within_range(
      in.out.rescale(wide, {.scales = {scale / q.scale()}, .input_zp = 0, .output_zp = q.zero_point(), .to = q.dtype}),
      q);
}

template <TosaOp kOp>
Result<ValueId> plain(Lowering& in, const Node& node) {
  const DType result = in.value(node.outputs[0]).dtype;
  if (is_float(result) && !computes(result)) {
    return fail(normalize::about(
        node, std::string(node.op.name()) + " of " + std::string(name_of(result)) + " is not supported"));
  }
  // PyTorch promotes operands of mixed types to the result's type. Narrow integers wrap like the low bits of wide ones.
  const DType type = is_float(result) ? result : DType::kInt32;
  const ValueId a = converted(in.out, in.operand(node.inputs[0]), type);
  const ValueId b = converted(in.out, in.operand(node.inputs[1]), type);
  return converted(in.out, in.out.binary(kOp, a, b), tosa_type(result));
}

// int32 operands and result on one scale. 32 bits have no spare bits for a rescale. Sums wrap on overflow, as in
// ExecuTorch's Arm backend.
template <TosaOp kOp>
ValueId as_they_are(Lowering& in, const Node& node) {
  const size_t rank = in.shape(node.outputs[0]).rank();
  const auto operand = [&](size_t i) { return in.out.with_rank(in.operand(node.inputs[i]), rank); };
  return in.out.binary(kOp, operand(0), operand(1));
}

template <TosaOp kOp>
Result<ValueId> aligned(Lowering& in, const Node& node) {
  if (!in.is_quantized(node)) return plain<kOp>(in, node);
  if (in.quantization(node.outputs[0]).dtype == DType::kInt32) return as_they_are<kOp>(in, node);
  const Aligned operands = align(in, node);
  return narrowed(in, node, in.out.binary(kOp, operands.a, operands.b), operands.scale);
}

// fmax and fmin: if one operand is NaN, the result is the other operand.
template <TosaOp kOp>
Result<ValueId> numbers_first(Lowering& in, const Node& node) {
  CARINA_TRY(const ValueId extremum, aligned<kOp>(in, node));
  if (!is_float(in.value(node.outputs[0]).dtype) || in.is_quantized(node)) return extremum;
  const ValueId a = in.operand(node.inputs[0]), b = in.operand(node.inputs[1]);
  const auto is_number = [&](ValueId x) { return in.out.compare(TosaOp::EQUAL, x, x); };
  return in.out.select(is_number(a), in.out.select(is_number(b), extremum, a), b);
}

Result<ValueId> multiply(Lowering& in, const Node& node) {
  if (!in.is_quantized(node)) return plain<TosaOp::MUL>(in, node);
  const auto [a, b] = operands_of(in, node);
  const auto widened = [&](const Integers& operand) {
    return in.out.rescale(operand.value,
                          {.scales = {1}, .input_zp = operand.zero_point, .output_zp = 0, .to = DType::kInt32});
  };
  const ValueId first = widened(a);
  const bool square = a.value == b.value && a.zero_point == b.zero_point;
  return narrowed(in, node, in.out.binary(TosaOp::MUL, first, square ? first : widened(b)), a.scale * b.scale);
}

// Lowers a function of two floats to an fp32 expression.
template <ValueId (*kFunction)(FloatMath&, ValueId, ValueId)>
Result<ValueId> float_function(Lowering& in, const Node& node) {
  const DType type = in.value(node.outputs[0]).dtype;
  if (in.is_quantized(node) || !computes(type))
    return fail(normalize::about(node, std::string(node.op.name()) + " is computed with floats only"));
  const size_t rank = in.shape(node.outputs[0]).rank();
  const auto operand = [&](size_t i) {
    return in.out.with_rank(converted(in.out, in.operand(node.inputs[i]), DType::kFp32), rank);
  };
  FloatMath math(in.out);
  const ValueId a = operand(0), b = operand(1);
  return in.out.cast(kFunction(math, a, b), type);
}

Rejected no_integer_function(const Candidate& c) {
  return rejected("op.two-operands",
                  fmt::format("{} of two computed operands has no table on {}", c.node.op.name(), c.target.name),
                  "make one operand a constant scalar");
}

constexpr LoweringRow kArithmeticRows[] = {
    {.op = AtenOp::pow_Tensor_Tensor,
     .integers = PlainIntegers::kNone,
     .legal = no_integer_function,
     .lower = float_function<functions::pow>},
    {.op = AtenOp::atan2_default,
     .integers = PlainIntegers::kNone,
     .legal = no_integer_function,
     .lower = float_function<functions::atan2>},
    {.op = AtenOp::add_Tensor, .integers = PlainIntegers::kAny, .legal = always, .lower = aligned<TosaOp::ADD>},
    {.op = AtenOp::sub_Tensor, .integers = PlainIntegers::kAny, .legal = always, .lower = aligned<TosaOp::SUB>},
    {.op = AtenOp::maximum_default,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = aligned<TosaOp::MAXIMUM>},
    {.op = AtenOp::minimum_default,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = aligned<TosaOp::MINIMUM>},
    {.op = AtenOp::fmax_default,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = numbers_first<TosaOp::MAXIMUM>},
    {.op = AtenOp::fmin_default,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = numbers_first<TosaOp::MINIMUM>},
    {.op = AtenOp::mul_Tensor, .integers = PlainIntegers::kAny, .legal = always, .lower = multiply},
};
static_assert(lowers_all_of(kArithmeticRows, {AtenFamily::kArithmetic}));

}  // namespace

std::span<const LoweringRow> arithmetic_rows() {
  return kArithmeticRows;
}

}  // namespace carina::lower
