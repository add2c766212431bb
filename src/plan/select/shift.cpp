#include "plan/select/emit.h"
#include "plan/select/rules.h"

// Shifts and casts between integers. Shifts are of 32 bits: narrower elements are widened before, and keep the low bits
// of the result.
namespace carina::plan {
namespace {

Operand widened(Selection& s, const Operand& narrow) {
  if (narrow.type.bits == 32) return narrow;
  const View wide = s.new_tensor("widened", narrow.view.shape(), kSigned32);
  emit_widen(s, wide, narrow);
  return {.view = wide, .type = kSigned32};
}

// The elements of a bool are the integers 0 and 1.
Operand as_integers(Operand operand) {
  operand.type.is_signed = true;
  return operand;
}

void take_low_bits(Selection& s, const Operand& wide, ElementType type) {
  const View out = s.destination(s.output());
  emit_low_bits(s, out, wide, type);
  s.close(s.output(), out, type);
}

}  // namespace

Result<void> select_shift(Selection& s) {
  const bool left = s.node().op == ir::Op(TosaOp::LOGICAL_LEFT_SHIFT);
  const Operand a = s.plain(s.input(0)), b = s.plain(s.input(1));
  Elementwise shift{.mode = left ? npu::ElementwiseMode::SHL : npu::ElementwiseMode::SHR, .a = a, .b = b};
  Epilogue epilogue = store_only(s.output(), kSigned32);
  // Without rounding half up the NPU rounds down.
  if (!left && !s.node().attributes.get<bool>("round")) epilogue.rounding = Rounding::kDouble;
  if (a.type.bits == 32) {
    finish_elementwise(s, shift, epilogue);
    return {};
  }
  shift.a = widened(s, a);
  shift.b = widened(s, b);
  epilogue.value = {};
  take_low_bits(s, emit_temporary(s, "shifted", shift, epilogue), a.type);
  return {};
}

Result<void> select_cast(Selection& s) {
  const DType from = s.value(s.input(0)).dtype, to = s.value(s.output()).dtype;
  const auto type_from = element_type_of(from), type_to = element_type_of(to);
  if (!type_from || !type_to) {
    return s.refuse("this conversion is not supported", "integers of at most 32 bits",
                    fmt::format("{} to {}", name_of(from), name_of(to)));
  }
  if (to == DType::kBool) return select_truth(s);
  const Operand a = as_integers(s.plain(s.input(0)));
  if (type_to->bits == type_from->bits || type_to->bits == 32) {
    s.define(s.output(), a);  // narrow elements that stand for wide ones
  } else if (type_to->bits < type_from->bits) {
    take_low_bits(s, a, *type_to);
  } else {
    finish_elementwise(s, times_scalar(a, 1), store_only(s.output(), kSigned16));
  }
  return {};
}

}  // namespace carina::plan
