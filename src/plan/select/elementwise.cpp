#include <algorithm>
#include <bit>
#include <optional>

#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"

// ADD, SUB, MUL, NEGATE and the elementwise operators that TOSA has for int32 only. Narrow tensors after a RESCALE are
// read directly if the NPU's operand scaling gives the same results.
namespace carina::plan {
namespace {

using npu::ElementwiseMode;

bool same_narrow_type(const Operand& a, const Operand& b) {
  return a.type == b.type && a.type.bits <= 16;
}

// If both operands are whole tensors with different axis orders, both are brought into the result's order.
void align(Selection& s, Elementwise& what, const Shape& shape) {
  const auto whole = [&](const Operand& operand) { return operand.view.shape() == shape; };
  if (!what.has_b || what.scalar || !whole(what.a) || !whole(what.b)) return;
  std::vector<int64_t> order_a, order_b;
  const bool dense_a = is_permuted_dense(what.a.view, order_a), dense_b = is_permuted_dense(what.b.view, order_b);
  if (dense_a && dense_b && order_a == order_b) return;
  if (dense_a && is_constant(s, what.b)) {
    what.b = constant_in_order(s, what.b, order_a);
    return;
  }
  if (dense_b && is_constant(s, what.a)) {
    what.a = constant_in_order(s, what.a, order_b);
    return;
  }
  what.a = with_dense_channels(s, what.a);
  what.b = with_dense_channels(s, what.b);
}

Result<void> check_int32(Selection& s) {
  for (const ir::ValueId id : {s.input(0), s.output()}) {
    if (s.value(id).dtype != DType::kInt32)
      return s.reject("the type is not supported", "int32", std::string(name_of(s.value(id).dtype)));
  }
  return {};
}

}  // namespace

void emit_output_elementwise(Selection& s, Elementwise what, const Epilogue& epilogue) {
  align(s, what, s.shape(s.output()));
  const bool b_is_whole = what.has_b && !what.scalar && what.a.view.shape() != s.shape(s.output());
  const View& like = b_is_whole ? what.b.view : what.a.view;
  const View out = like.shape() == s.shape(s.output()) ? s.open_like(epilogue.value, like)
                                                       : s.open(epilogue.value, s.shape(s.output()));
  emit_elementwise(s, out, what, epilogue);
  s.close(epilogue.value, out, epilogue.type);
}

Elementwise sum_of(Selection& s, ElementwiseMode mode, ir::ValueId a, ir::ValueId b) {
  const Operand x = s.cheapest(a), y = s.cheapest(b);
  if (same_narrow_type(x, y)) {
    if (const auto operands = s.family().operand_scaling(x.scaling, y.scaling, x.type))
      return {.mode = mode, .a = x, .b = y, .operands = *operands};
  }
  const Operand wide = s.plain(a);
  return {.mode = mode, .a = wide, .b = s.plain(b), .operands = {}};
}

Result<void> select_add_sub(Selection& s) {
  CARINA_CHECKED(check_int32(s));
  const ElementwiseMode mode = s.node().op == ir::Op(TosaOp::ADD) ? ElementwiseMode::ADD : ElementwiseMode::SUB;
  const Elementwise sum = sum_of(s, mode, s.input(0), s.input(1));
  using Scale = EpilogueRules::Scale;
  const auto scale = s.family().abilities.wide_elements ? Scale::kWide : Scale::kGlobal;
  emit_output_elementwise(s, sum,
                          s.follow(s.output(), kSigned32, {.scale = scale, .wide_input = sum.a.type.bits == 32}));
  return {};
}

namespace {

// Whether only RESCALEs read the result that round twice: their scaling can be one of narrow elements.
bool is_read_by_two_roundings(const Selection& s) {
  if (s.is_output(s.output())) return false;
  return std::ranges::all_of(s.users(s.output()), [&](ir::NodeId id) {
    const ir::Node& user = s.graph().nodes[id.index()];
    if (user.op != ir::Op(TosaOp::RESCALE)) return false;
    const auto r = s.rescale_of(user);
    return r && !r->per_channel && r->out.bits == 32 && r->input_zp == 0 && r->rounding == Rounding::kDouble &&
           r->factors[0].shift > 31;
  });
}

// A narrow operand times a constant power of two, if it is read so.
std::optional<Operand> shifted_narrow(Selection& s, size_t input) {
  const auto factor = s.value(s.input(1 - input)).constant ? s.constant(s.input(1 - input), "factor")
                                                           : Result<std::vector<int64_t>>(std::vector<int64_t>());
  if (!factor || factor->size() != 1 || factor->front() < 2 ||
      !std::has_single_bit(static_cast<uint64_t>(factor->front())))
    return std::nullopt;
  Operand x = s.cheapest(s.input(input));
  if (x.type.bits > 16 || !simplified(x.scaling).is_unit() || x.view.shape() != s.shape(s.output()) ||
      !is_read_by_two_roundings(s))
    return std::nullopt;
  x.scaling = {{.multiplier = static_cast<uint32_t>(factor->front())}};
  return x;
}

}  // namespace

Result<void> select_mul(Selection& s) {
  CARINA_TRY(const int64_t shift, s.constant_scalar(s.input(2), "shift"));
  if (s.value(s.output()).dtype != DType::kInt32)
    return s.reject("the type is not supported", "int32", std::string(name_of(s.value(s.output()).dtype)));
  for (const size_t input : {size_t{0}, size_t{1}}) {
    if (shift != 0) break;
    if (const auto narrow = shifted_narrow(s, input)) {
      s.define(s.output(), *narrow);
      return {};
    }
  }
  Operand a = s.cheapest(s.input(0)), b = s.cheapest(s.input(1));
  const bool narrow =
      same_narrow_type(a, b) && simplified(a.scaling).is_unit() && simplified(b.scaling).is_unit() && shift == 0;
  if (narrow) {
    emit_output_elementwise(s, {.mode = ElementwiseMode::MUL, .a = a, .b = b, .operands = {}},
                            s.follow(s.output(), kSigned32, {.scale = EpilogueRules::Scale::kGlobal}));
    return {};
  }
  a = s.plain(s.input(0));
  b = s.plain(s.input(1));
  if (a.type.bits != 32)
    return s.reject("the operands' type is not supported", "int8, int16 or int32",
                    std::string(name_of(s.value(s.input(0)).dtype)));
  // The shift of the product and that of a RESCALE are rounded separately, so the operation can absorb only one of
  // them.
  Epilogue epilogue = store_only(s.output(), kSigned32);
  if (shift == 0) {
    epilogue = s.follow(epilogue, {.scale = EpilogueRules::Scale::kGlobal, .wide_input = true});
  } else {
    epilogue.factors = {{.multiplier = 1, .shift = static_cast<int>(shift)}};
    epilogue = epilogue_of_shift(s, epilogue);
  }
  emit_output_elementwise(s, {.mode = ElementwiseMode::MUL, .a = a, .b = b, .operands = {}}, epilogue);
  return {};
}

// max(a - zero_a, b - zero_b) of two narrow tensors on one scale needs no copies in 32 bits: the NPU subtracts the zero
// points before it compares, and adds the result's afterwards.
Result<void> select_binary_32(Selection& s) {
  CARINA_CHECKED(check_int32(s));
  const ElementwiseMode mode = s.node().op == ir::Op(TosaOp::MAXIMUM) ? ElementwiseMode::MAX : ElementwiseMode::MIN;
  const Operand x = s.cheapest(s.input(0)), y = s.cheapest(s.input(1));
  if (same_narrow_type(x, y) && simplified(x.scaling).is_unit() && simplified(y.scaling).is_unit()) {
    emit_output_elementwise(s, {.mode = mode, .a = x, .b = y, .operands = {}},
                            s.follow(s.output(), kSigned32, {.scale = EpilogueRules::Scale::kShift}));
    return {};
  }
  const Operand a = s.plain(s.input(0)), b = s.plain(s.input(1));
  emit_output_elementwise(s, {.mode = mode, .a = a, .b = b, .operands = {}}, store_only(s.output(), kSigned32));
  return {};
}

// |a - zero| of a narrow tensor, scaled to a narrow result, needs no copy in 32 bits.
Result<void> select_unary_32(Selection& s) {
  CARINA_CHECKED(check_int32(s));
  const ElementwiseMode mode = s.node().op == ir::Op(TosaOp::ABS) ? ElementwiseMode::ABS : ElementwiseMode::CLZ;
  const Operand x = s.cheapest(s.input(0));
  const ir::NodeId next = s.sole_user(s.output());
  const bool is_narrow = x.type.bits <= 16 && simplified(x.scaling).is_unit() && next.valid() &&
                         s.graph().nodes[next.index()].op == ir::Op(TosaOp::RESCALE) &&
                         element_type_of(s.value(s.graph().nodes[next.index()].outputs[0]).dtype) == x.type;
  if (mode == ElementwiseMode::ABS && is_narrow) {
    const Epilogue epilogue = s.follow(s.output(), kSigned32, {.scale = EpilogueRules::Scale::kGlobal});
    const Operand a = epilogue.type == x.type ? x : s.plain(s.input(0));
    emit_output_elementwise(s, {.mode = mode, .a = a, .b = {}, .has_b = false, .operands = {}}, epilogue);
    return {};
  }
  emit_output_elementwise(s, {.mode = mode, .a = s.plain(s.input(0)), .b = {}, .has_b = false, .operands = {}},
                          store_only(s.output(), kSigned32));
  return {};
}

Result<void> select_negate(Selection& s) {
  Operand a = s.plain(s.input(0));
  CARINA_TRY(a.zero_point, s.constant_scalar(s.input(1), "input zero point"));
  Epilogue epilogue = s.follow(s.output(), a.type, {});
  CARINA_TRY(epilogue.zero_point, s.constant_scalar(s.input(2), "output zero point"));
  if (a.type.bits <= 16) {
    emit_output_elementwise(s, times_scalar(a, -1), epilogue);
    return {};
  }
  const Operand zero{.view = {}, .type = a.type};
  emit_output_elementwise(
      s, {.mode = ElementwiseMode::SUB, .a = a, .b = zero, .scalar = 0, .scalar_first = true, .operands = {}},
      epilogue);
  return {};
}

}  // namespace carina::plan
