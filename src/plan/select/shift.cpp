#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"

// Shifts and casts between integers. Elementwise shifts have 32 bits: narrower elements are widened before, and only
// the low bits of the result are kept.
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

// The softmax of LiteRT ends with such a shift. Elementwise shifts to 8 bits are in Vela's streams.
Epilogue epilogue_of_shift(Selection& s, const Epilogue& store) {
  const auto found = store.type == kSigned32 ? rescale_after(s, store.value) : std::nullopt;
  if (!found || found->rescale.per_channel || !simplified(found->rescale.scaling()).is_unit() ||
      found->rescale.out.bits > 16)
    return store;
  s.absorb(found->node);
  Epilogue epilogue = s.follow(epilogue_of(found->rescale, s.graph()[found->node].outputs[0]), {});
  epilogue.factors = store.factors;
  epilogue.rounding = store.rounding;
  return epilogue;
}

namespace {

// The shift amount of every element, if it is one constant.
std::optional<int64_t> constant_amount(Selection& s) {
  if (!s.value(s.input(1)).constant) return std::nullopt;
  const auto amounts = s.constant(s.input(1), "shift");
  if (!amounts || amounts->empty() ||
      std::ranges::adjacent_find(*amounts, std::ranges::not_equal_to()) != amounts->end())
    return std::nullopt;
  return amounts->front();
}

int64_t half_of(int64_t amount) {
  return amount == 0 ? 0 : int64_t{1} << (amount - 1);
}

Operand constant_32(Selection& s, size_t rank, int64_t value) {
  const std::vector<int64_t> ones(rank, 1);
  const Shape shape{std::span<const int64_t>(ones)};
  const auto stored = static_cast<int32_t>(value);
  return {.view = dense_view(s.new_constant("constant", std::as_bytes(std::span(&stored, 1)), shape, 4), shape),
          .type = kSigned32};
}

// What is stored is shifted, with rounding half up; from half a step less, down. The difference is formed in more than
// 32 bits.
void shift_by_constant(Selection& s, const Operand& x, int64_t amount, int64_t less) {
  Epilogue shifted = store_only(s.output(), x.type);
  shifted.factors = {{.multiplier = 1, .shift = static_cast<int>(amount)}};
  Elementwise difference{.mode = npu::ElementwiseMode::SUB, .a = x, .b = {.view = {}, .type = x.type}, .operands = {}};
  if (x.type.bits == 32)
    difference.b = constant_32(s, x.view.rank(), less);
  else
    difference.scalar = less;
  emit_output_elementwise(s, difference, shifted);
}

// Half of 2^amount for each amount of at most 16, or 0 for the amount 0: (2^amount - 1) / 2, rounded half up.
Operand halves_of(Selection& s, const Operand& amounts) {
  const Epilogue store = store_only({}, kSigned32);
  const Operand one = constant_32(s, amounts.view.rank(), 1);
  const Operand powers =
      emit_temporary(s, "powers", {.mode = npu::ElementwiseMode::SHL, .a = one, .b = amounts, .operands = {}}, store);
  Epilogue halved = store;
  halved.factors = {{.multiplier = 1, .shift = 1}};
  return emit_temporary(s, "halves", {.mode = npu::ElementwiseMode::SUB, .a = powers, .b = one, .operands = {}},
                        halved);
}

// By amounts that are known when the network runs, of narrow elements.
void shift_narrow(Selection& s, const Operand& x, const Operand& by, npu::ElementwiseMode mode, bool down) {
  Elementwise shift{.mode = mode, .a = widened(s, x), .b = widened(s, by), .operands = {}};
  const Epilogue store = store_only({}, kSigned32);
  if (down) {
    const Elementwise less{.mode = npu::ElementwiseMode::SUB, .a = shift.a, .b = halves_of(s, shift.b), .operands = {}};
    shift.a = emit_temporary(s, "less", less, store);
  }
  take_low_bits(s, emit_temporary(s, "shifted", shift, store), x.type);
}

}  // namespace

Result<void> select_shift(Selection& s) {
  const bool left = s.node().op == ir::Op(TosaOp::LOGICAL_LEFT_SHIFT);
  const bool down = !left && !s.node().attributes.get<bool>("round");
  const Operand x = s.plain(s.input(0));
  if (const auto amount = constant_amount(s); amount && !left && x.view.shape() == s.shape(s.output())) {
    shift_by_constant(s, x, *amount, down ? half_of(*amount) : 0);
    return {};
  }
  const auto mode = left ? npu::ElementwiseMode::SHL : npu::ElementwiseMode::SHR;
  const Operand by = s.plain(s.input(1));
  if (x.type.bits < 32) {
    shift_narrow(s, x, by, mode, down);
    return {};
  }
  Epilogue epilogue = store_only(s.output(), kSigned32);
  if (down) epilogue.rounding = Rounding::kDouble;  // rounds down
  if (!left) epilogue = epilogue_of_shift(s, epilogue);
  emit_output_elementwise(s, {.mode = mode, .a = x, .b = by, .operands = {}}, epilogue);
  return {};
}

Result<void> select_cast(Selection& s) {
  const DType from = s.value(s.input(0)).dtype, to = s.value(s.output()).dtype;
  const auto type_from = element_type_of(from), type_to = element_type_of(to);
  if (!type_from || !type_to) {
    return s.reject("this conversion is not supported", "integers of at most 32 bits",
                    fmt::format("{} to {}", name_of(from), name_of(to)));
  }
  if (to == DType::kBool) return select_truth(s);
  const Operand a = as_integers(s.plain(s.input(0)));
  if (type_to->bits == type_from->bits || type_to->bits == 32) {
    s.define(s.output(), a);  // narrow elements that stand for wide ones
  } else if (type_to->bits < type_from->bits) {
    take_low_bits(s, a, *type_to);
  } else {
    emit_output_elementwise(s, times_scalar(a, 1), store_only(s.output(), kSigned16));
  }
  return {};
}

}  // namespace carina::plan
