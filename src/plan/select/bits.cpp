#include <algorithm>
#include <optional>

#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"

// Bit operations, comparisons, choices, shifts and quotients, for NPUs that have operations for them. A comparison
// results in all ones if it holds.
namespace carina::plan {
namespace {

using npu::ElementwiseMode;

// Stores results without change, whatever their sign.
Epilogue store_bits(ir::ValueId value, ElementType type) {
  Epilogue epilogue = store_only(value, type);
  epilogue.activation.wraps = true;
  return epilogue;
}

// The operand with signed elements, for operations that use only its bits.
Operand bits_of(Operand operand) {
  operand.type.is_signed = true;
  return operand;
}
Operand bits_of(Selection& s, size_t input) {
  return bits_of(s.plain(s.input(input)));
}

Elementwise with_scalar(ElementwiseMode mode, const Operand& a, int64_t scalar) {
  return {.mode = mode, .a = a, .b = {.view = {}, .type = a.type}, .scalar = scalar, .operands = {}};
}

ElementType result_type(Selection& s) {
  return *element_type_of(s.value(s.output()).dtype);
}

// All ones if the boolean is not 0, in elements of `bits` bits.
Operand mask_of(Selection& s, const Operand& truth, uint8_t bits) {
  return emit_temporary(s, "mask", with_scalar(ElementwiseMode::CMP_NE, truth, 0), store_bits({}, {bits, true}));
}

ElementwiseMode bit_mode(TosaOp op) {
  switch (op) {
    case TosaOp::BITWISE_AND:
    case TosaOp::LOGICAL_AND:
      return ElementwiseMode::AND;
    case TosaOp::BITWISE_OR:
    case TosaOp::LOGICAL_OR:
      return ElementwiseMode::OR;
    case TosaOp::BITWISE_XOR:
    case TosaOp::LOGICAL_XOR:
      return ElementwiseMode::XOR;
    default:
      CARINA_UNREACHABLE("op", op);
  }
}

ElementwiseMode comparison_mode(TosaOp op) {
  switch (op) {
    case TosaOp::EQUAL:
      return ElementwiseMode::CMP_EQ;
    case TosaOp::GREATER:
      return ElementwiseMode::CMP_GT;
    case TosaOp::GREATER_EQUAL:
      return ElementwiseMode::CMP_GE;
    default:
      CARINA_UNREACHABLE("op", op);
  }
}

ElementwiseMode shift_mode(TosaOp op) {
  switch (op) {
    case TosaOp::ARITHMETIC_RIGHT_SHIFT:
      return ElementwiseMode::SHR;
    case TosaOp::LOGICAL_RIGHT_SHIFT:
      return ElementwiseMode::LSR;
    case TosaOp::LOGICAL_LEFT_SHIFT:
      return ElementwiseMode::SHL;
    default:
      CARINA_UNREACHABLE("op", op);
  }
}

}  // namespace

Result<void> select_bits(Selection& s) {
  const Epilogue store = store_bits(s.output(), result_type(s));
  const TosaOp op = s.node().op.tosa();
  if (op == TosaOp::BITWISE_NOT) {
    emit_output_elementwise(
        s, {.mode = ElementwiseMode::NOT, .a = bits_of(s, 0), .b = {}, .has_b = false, .operands = {}}, store);
  } else if (op == TosaOp::LOGICAL_NOT) {
    emit_output_elementwise(s, with_scalar(ElementwiseMode::XOR, bits_of(s, 0), 1), store);
  } else {
    emit_output_elementwise(s, {.mode = bit_mode(op), .a = bits_of(s, 0), .b = bits_of(s, 1), .operands = {}}, store);
  }
  return {};
}

namespace {

// The operands of a comparison: the narrow elements, if the widened values differ from them by one zero point only.
Elementwise compared(Selection& s, ElementwiseMode mode) {
  Operand x = s.cheapest(s.input(0)), y = s.cheapest(s.input(1));
  const auto is_unit = [](const Operand& operand) { return simplified(operand.scaling).is_unit(); };
  if (x.type == y.type && x.zero_point == y.zero_point && is_unit(x) && is_unit(y)) {
    x.zero_point = y.zero_point = 0;
    return {.mode = mode, .a = x, .b = y, .operands = {}};
  }
  x = s.plain(s.input(0));
  return {.mode = mode, .a = x, .b = s.plain(s.input(1)), .operands = {}};
}

// The width of the elements that a boolean chooses, if nothing else reads it and all have one width.
std::optional<uint8_t> chosen_bits(const Selection& s, ir::ValueId truth) {
  std::optional<uint8_t> bits;
  if (s.is_output(truth)) return bits;
  for (const ir::NodeId id : s.users(truth)) {
    const ir::Node& user = s.graph()[id];
    if (user.op != ir::Op(TosaOp::SELECT) || user.inputs[0] != truth || std::ranges::count(user.inputs, truth) != 1)
      return std::nullopt;
    const auto type = element_type_of(s.value(user.outputs[0]).dtype);
    if (!type || (bits && *bits != type->bits)) return std::nullopt;
    bits = type->bits;
  }
  return bits;
}

}  // namespace

// The comparison's result is a mask. It stays one for choices, and becomes 0 or 1 for others.
Result<void> select_order(Selection& s) {
  ElementwiseMode mode = comparison_mode(s.node().op.tosa());
  ir::ValueId result = s.output();
  const ir::NodeId next = s.sole_user(result);
  if (mode == ElementwiseMode::CMP_EQ && next.valid() && s.graph()[next].op == ir::Op(TosaOp::LOGICAL_NOT)) {
    mode = ElementwiseMode::CMP_NE;
    result = s.graph()[next].outputs[0];
    s.absorb(next);
  }
  const std::optional<uint8_t> bits = chosen_bits(s, result);
  const Operand mask =
      emit_temporary(s, "mask", compared(s, mode), store_bits({}, {bits.value_or(kSigned8.bits), true}));
  if (bits) {
    s.define_mask(result, mask);
    return {};
  }
  emit_output_elementwise(s, with_scalar(ElementwiseMode::AND, mask, 1), store_bits(result, result_type(s)));
  return {};
}

Result<void> select_by_mask(Selection& s) {
  const Operand a = bits_of(s, 1), b = bits_of(s, 2);
  const std::optional<Operand>& known = s.mask(s.input(0));
  const Operand mask = known ? *known : mask_of(s, s.plain(s.input(0)), a.type.bits);
  const auto masked = [&](ElementwiseMode mode, const Operand& x) {
    return emit_temporary(s, "chosen", {.mode = mode, .a = x, .b = mask, .operands = {}}, store_bits({}, x.type));
  };
  const Operand chosen = masked(ElementwiseMode::AND, a), other = masked(ElementwiseMode::AND_NOT, b);
  emit_output_elementwise(s, {.mode = ElementwiseMode::OR, .a = chosen, .b = other, .operands = {}},
                          store_bits(s.output(), result_type(s)));
  return {};
}

Result<void> select_bit_shift(Selection& s) {
  const TosaOp op = s.node().op.tosa();
  Epilogue store = store_bits(s.output(), result_type(s));
  // Without rounding half up, the NPU rounds down.
  if (op == TosaOp::ARITHMETIC_RIGHT_SHIFT && !s.node().attributes.get<bool>("round"))
    store.rounding = Rounding::kDouble;
  if (op == TosaOp::ARITHMETIC_RIGHT_SHIFT) store = epilogue_of_shift(s, store);
  emit_output_elementwise(
      s, {.mode = shift_mode(op), .a = s.plain(s.input(0)), .b = s.plain(s.input(1)), .operands = {}}, store);
  return {};
}

Result<void> select_quotient(Selection& s) {
  emit_output_elementwise(
      s, {.mode = ElementwiseMode::DIV, .a = s.plain(s.input(0)), .b = s.plain(s.input(1)), .operands = {}},
      store_bits(s.output(), kSigned32));
  return {};
}

// A CAST to bool, or one that keeps the low bits of wider integers. Other casts are views.
Result<void> select_bit_cast(Selection& s) {
  const DType from = s.value(s.input(0)).dtype, to = s.value(s.output()).dtype;
  const auto in = element_type_of(from), out = element_type_of(to);
  if (!in || !out || (to != DType::kBool && out->bits >= in->bits)) return select_cast(s);
  const Operand a = s.plain(s.input(0));
  if (to != DType::kBool) {
    emit_output_elementwise(s, with_scalar(ElementwiseMode::ADD, a, 0), store_bits(s.output(), *out));
    return {};
  }
  emit_output_elementwise(s, with_scalar(ElementwiseMode::AND, mask_of(s, a, kSigned8.bits), 1),
                          store_bits(s.output(), *out));
  return {};
}

}  // namespace carina::plan
