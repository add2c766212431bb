// Functions that are constant between integers, computed with 32-bit integers.

#include "lower/ops/steps_internal.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace carina::lower {

namespace {

using ir::Node;
using ir::ValueId;

ValueId number(Lowering& in, ValueId like, double value) {
  return in.out.splat(DType::kInt32, value, in.out.shape(like).rank());
}

ValueId shifted_down(Lowering& in, ValueId value, int bits) {
  return in.out.binary(TosaOp::ARITHMETIC_RIGHT_SHIFT, value, number(in, value, bits));
}

ValueId ceil_of(Lowering& in, const Fractions& x) {
  const ValueId raised = in.out.binary(TosaOp::ADD, x.value, number(in, x.value, std::ldexp(1.0, x.bits) - 1));
  return shifted_down(in, raised, x.bits);
}

// Rounds halves to the even neighbor: adds just less than a half, plus 1 in the last bit if the integer part is odd.
//   2.5 = 10.1 -> 10.1 + 0.0111.. + 0 = 10.1111 -> 2      3.5 = 11.1 -> 11.1 + 0.0111.. + 0.00..1 = 100.0 -> 4
ValueId round_of(Lowering& in, const Fractions& x) {
  if (x.bits == 0) return x.value;
  const ValueId whole = shifted_down(in, x.value, x.bits);
  const ValueId half = shifted_down(in, whole, 1);
  const ValueId odd = in.out.binary(TosaOp::SUB, whole, in.out.binary(TosaOp::ADD, half, half));
  const ValueId raised = in.out.binary(TosaOp::ADD, x.value, number(in, x.value, std::ldexp(1.0, x.bits - 1) - 1));
  return shifted_down(in, in.out.binary(TosaOp::ADD, raised, odd), x.bits);
}

// -1, 0 or 1 in int32.
ValueId sign_of(Lowering& in, ValueId input, const Quantization& q) {
  const ValueId x =
      in.out.rescale(input, {.scales = {1}, .input_zp = q.zero_point(), .output_zp = 0, .to = DType::kInt32});
  const ValueId one = number(in, x, 1);
  return in.out.binary(TosaOp::MINIMUM, in.out.binary(TosaOp::MAXIMUM, x, number(in, x, -1)), one);
}

ValueId whole_result(Lowering& in, const Node& node) {
  const ValueId input = in.operand(node.inputs[0]);
  const Quantization& q = in.quantization(node.inputs[0]);
  if (node.op == ir::Op(AtenOp::sign_default)) return sign_of(in, input, q);
  const Fractions x = fractions_of(in, input, q);
  if (node.op == ir::Op(AtenOp::floor_default)) return floor_of(in, x);
  if (node.op == ir::Op(AtenOp::ceil_default)) return ceil_of(in, x);
  return node.op == ir::Op(AtenOp::round_default) ? round_of(in, x) : trunc_of(in, x);
}

}  // namespace

Fractions fractions_of(Lowering& in, ValueId input, const Quantization& q) {
  constexpr int kMaxFractionBits = 22;
  const auto reach = static_cast<double>(range_of(q.dtype).max - range_of(q.dtype).min) * q.scale();
  const int bits = std::clamp(30 - static_cast<int>(std::ceil(std::log2(reach))), 0, kMaxFractionBits);
  return {.value = in.out.rescale(input, {.scales = {std::ldexp(1.0, bits) * q.scale()},
                                          .input_zp = q.zero_point(),
                                          .output_zp = 0,
                                          .to = DType::kInt32}),
          .bits = bits};
}

ValueId floor_of(Lowering& in, const Fractions& x) {
  return shifted_down(in, x.value, x.bits);
}

ValueId trunc_of(Lowering& in, const Fractions& x) {
  const ValueId is_negative = in.out.compare(TosaOp::GREATER, number(in, x.value, 0), x.value);
  const ValueId raised = in.out.binary(TosaOp::ADD, x.value, number(in, x.value, std::ldexp(1.0, x.bits) - 1));
  return shifted_down(in, in.out.select(is_negative, raised, x.value), x.bits);
}

bool is_step_function(AtenOp op) {
  constexpr std::array kSteps{AtenOp::sign_default, AtenOp::floor_default, AtenOp::ceil_default, AtenOp::round_default,
                              AtenOp::trunc_default};
  return std::ranges::find(kSteps, op) != kSteps.end();
}

ValueId step_function(Lowering& in, const Node& node) {
  const Quantization& q = in.quantization(node.outputs[0]);
  const ValueId whole = whole_result(in, node);
  return in.within_range(
      in.out.rescale(whole, {.scales = {1 / q.scale()}, .input_zp = 0, .output_zp = q.zero_point(), .to = q.dtype}), q);
}

}  // namespace carina::lower
