#include <array>
#include <functional>

#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"

// Comparisons, choices and booleans, for NPUs without operations for them. A boolean is stored as 0 or 1, and stored
// values can be clamped: a > b is a - b, clamped to 0..1.
namespace carina::plan {
namespace {

using npu::ElementwiseMode;

Operand as_truth(Operand operand) {
  operand.type = kSigned8;
  return operand;
}
Operand truth_of(Selection& s, size_t input) {
  return as_truth(s.plain(s.input(input)));
}

// Stores 1 if the result is above `bound`, otherwise 0.
Epilogue above(ir::ValueId value, int64_t bound) {
  Epilogue epilogue = store_only(value, kSigned8);
  epilogue.zero_point = -bound;
  epilogue.activation.min = 0;
  epilogue.activation.max = 1;
  return epilogue;
}

// Stores 1 if `accepts` returns true for the result, clamped to 8 bits.
Epilogue looked_up(Selection& s, const std::function<bool(int)>& accepts) {
  constexpr int kEntries = 256, kFirst = -128;
  std::array<int8_t, kEntries> table{};
  for (int i = 0; i < kEntries; ++i) table[static_cast<size_t>(i)] = accepts(i + kFirst) ? 1 : 0;
  Epilogue epilogue = store_only(s.output(), kSigned8);
  epilogue.activation.table = s.new_constant("truth", std::as_bytes(std::span(table)), {kEntries}, 1);
  return epilogue;
}

// 1 - x as (x - 1) * -1.
Elementwise not_of(Operand truth) {
  truth.zero_point = 1;
  return times_scalar(truth, -1);
}

}  // namespace

Result<void> select_comparison(Selection& s) {
  const Elementwise difference = sum_of(s, ElementwiseMode::SUB, s.input(0), s.input(1));
  switch (s.node().op.tosa()) {
    case TosaOp::GREATER:
      emit_output_elementwise(s, difference, above(s.output(), 0));
      break;
    case TosaOp::GREATER_EQUAL:
      emit_output_elementwise(s, difference, above(s.output(), -1));
      break;
    case TosaOp::EQUAL:
      emit_output_elementwise(s, difference, looked_up(s, [](int d) { return d == 0; }));
      break;
    default:
      CARINA_UNREACHABLE("op", s.node().op.tosa());
  }
  return {};
}

Result<void> select_truth(Selection& s) {
  Operand x = s.cheapest(s.input(0));
  if (!simplified(x.scaling).is_unit()) x = s.plain(s.input(0));
  emit_output_elementwise(
      s, {.mode = ElementwiseMode::ADD, .a = x, .b = {.view = {}, .type = x.type}, .scalar = 0, .operands = {}},
      looked_up(s, [](int value) { return value != 0; }));
  return {};
}

Result<void> select_logical(Selection& s) {
  const auto binary = [&](ElementwiseMode mode) {
    return Elementwise{.mode = mode, .a = truth_of(s, 0), .b = truth_of(s, 1), .operands = {}};
  };
  switch (s.node().op.tosa()) {
    case TosaOp::LOGICAL_NOT:
      emit_output_elementwise(s, not_of(truth_of(s, 0)), store_only(s.output(), kSigned8));
      break;
    case TosaOp::LOGICAL_AND:
      emit_output_elementwise(s, binary(ElementwiseMode::MIN), store_only(s.output(), kSigned8));
      break;
    case TosaOp::LOGICAL_OR:
      emit_output_elementwise(s, binary(ElementwiseMode::MAX), store_only(s.output(), kSigned8));
      break;
    case TosaOp::LOGICAL_XOR:
      emit_output_elementwise(s, binary(ElementwiseMode::SUB), looked_up(s, [](int d) { return d != 0; }));
      break;
    default:
      CARINA_UNREACHABLE("op", s.node().op.tosa());
  }
  return {};
}

namespace {

Operand times(Selection& s, const Operand& factor, const Operand& x, ElementType type) {
  return emit_temporary(s, "chosen", {.mode = ElementwiseMode::MUL, .a = factor, .b = x, .operands = {}},
                        store_only({}, type));
}

// condition * a - (condition - 1) * b, both products in 16 bits.
Elementwise choice_of_8(Selection& s, const Operand& condition, const Operand& a, const Operand& b) {
  Operand otherwise = condition;
  otherwise.zero_point = 1;
  const Operand first = times(s, condition, a, kSigned16);
  return {.mode = ElementwiseMode::SUB, .a = first, .b = times(s, otherwise, b, kSigned16), .operands = {}};
}

// condition * a + (1 - condition) * b, both factors in the type of the elements.
Elementwise choice_of_wide(Selection& s, const Operand& condition, const Operand& a, const Operand& b) {
  const Epilogue store = store_only({}, a.type);
  const Operand yes = emit_temporary(s, "condition", times_scalar(condition, 1), store);
  const Operand no = emit_temporary(s, "otherwise", not_of(condition), store);
  const Operand first = times(s, yes, a, a.type);
  return {.mode = ElementwiseMode::ADD, .a = first, .b = times(s, no, b, a.type), .operands = {}};
}

}  // namespace

Result<void> select_choice(Selection& s) {
  const Operand condition = truth_of(s, 0);
  Operand a = s.plain(s.input(1)), b = s.plain(s.input(2));
  a.type.is_signed = b.type.is_signed = true;  // bools are 0 and 1 either way
  const Elementwise choice = a.type.bits == 8 ? choice_of_8(s, condition, a, b) : choice_of_wide(s, condition, a, b);
  emit_output_elementwise(s, choice, store_only(s.output(), a.type));
  return {};
}

// -1 - x, as (x + 1) * -1 where scalars are wide enough.
Result<void> select_bitwise_not(Selection& s) {
  Operand x = s.plain(s.input(0));
  const Epilogue store = store_only(s.output(), x.type);
  if (x.type.bits <= 16) {
    x.zero_point = -1;
    emit_output_elementwise(s, times_scalar(x, -1), store);
    return {};
  }
  const std::vector<int64_t> ones(x.view.rank(), 1);
  const Shape shape{std::span<const int64_t>(ones)};
  constexpr int32_t kMinusOne = -1;
  const Operand minus_one{
      .view = dense_view(s.new_constant("-1", std::as_bytes(std::span(&kMinusOne, 1)), shape, 4), shape),
      .type = kSigned32};
  emit_output_elementwise(s, {.mode = ElementwiseMode::SUB, .a = minus_one, .b = x, .operands = {}}, store);
  return {};
}

}  // namespace carina::plan
