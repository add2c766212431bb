// Lowers divisions that round to integers, and remainders.

#include "lower/ops/division_internal.h"

#include <algorithm>
#include <cmath>

#include "facts/aten_traits.h"
#include "lower/lowering_internal.h"
#include "lower/ops/casts_internal.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

// Adds arithmetic on int32 or on floats, depending on the operands.
class Terms {
 public:
  explicit Terms(ir::Emitter& out) : out_(out) {}
  ValueId add(ValueId a, ValueId b) { return out_.binary(TosaOp::ADD, a, b); }
  ValueId sub(ValueId a, ValueId b) { return out_.binary(TosaOp::SUB, a, b); }
  ValueId mul(ValueId a, ValueId b) { return out_.binary(TosaOp::MUL, a, b); }
  ValueId number(double value, ValueId like) { return out_.splat(out_.dtype(like), value, out_.shape(like).rank()); }
  ValueId is_negative(ValueId a) { return out_.compare(TosaOp::GREATER, number(0, a), a); }
  ValueId negated_if(ValueId condition, ValueId a) { return out_.select(condition, sub(number(0, a), a), a); }
  ValueId opposite_signs(ValueId a, ValueId b) {
    const ValueId is_b_negative = is_negative(b);
    return out_.compare(TosaOp::LOGICAL_XOR, is_negative(a), is_b_negative);
  }

 private:
  ir::Emitter& out_;
};

// The floor of a / b. The product with the reciprocal may differ from an integer by its rounding error, so the
// remainder corrects it.
ValueId floor_quotient(ir::Emitter& out, ValueId a, ValueId b) {
  Terms t(out);
  const ValueId guess = out.unary(TosaOp::FLOOR, t.mul(a, out.unary(TosaOp::RECIPROCAL, b)));
  const ValueId remainder = t.sub(a, t.mul(guess, b));
  const ValueId left = t.negated_if(t.is_negative(b), remainder);
  const ValueId one = t.number(1, guess), zero = t.number(0, guess);
  const ValueId too_small = out.compare(TosaOp::GREATER_EQUAL, left, out.unary(TosaOp::ABS, b));
  const ValueId raised = t.add(guess, out.select(too_small, one, zero));
  return t.sub(raised, out.select(t.is_negative(left), one, zero));
}

// int32 division. Divisors are not 0.
struct Division {
  ValueId quotient;
  ValueId left;
};

Division divided(ir::Emitter& out, ValueId a, ValueId b, Rounding rounding) {
  Terms t(out);
  const ValueId quotient = out.binary(TosaOp::INTDIV, a, b);
  const ValueId left = t.sub(a, t.mul(quotient, b));
  if (rounding == Rounding::kTrunc) return {.quotient = quotient, .left = left};
  const ValueId is_whole = out.compare(TosaOp::EQUAL, left, t.number(0, left));
  const ValueId opposite = t.opposite_signs(left, b);
  const ValueId below = out.compare(TosaOp::LOGICAL_AND, out.unary(TosaOp::LOGICAL_NOT, is_whole), opposite);
  const ValueId zero = t.number(0, left);
  return {.quotient = t.sub(quotient, out.select(below, t.number(1, left), zero)),
          .left = t.add(left, out.select(below, b, zero))};
}

Rounding rounding_of(const Node& node) {
  const ir::Attribute* mode = node.attributes.find("rounding_mode");
  const bool floor = mode == nullptr ? node.op != ir::Op(AtenOp::fmod_Tensor) : std::get<std::string>(*mode) == "floor";
  return floor ? Rounding::kFloor : Rounding::kTrunc;
}

enum class Wanted : uint8_t { kQuotient, kRemainder };

Result<ValueId> of_integers(Lowering& in, const Node& node, Wanted wanted) {
  const auto int32 = [&](size_t i) { return converted(in.out, in.operand(node.inputs[i]), DType::kInt32); };
  const Division result = divided(in.out, int32(0), int32(1), rounding_of(node));
  return converted(in.out, wanted == Wanted::kQuotient ? result.quotient : result.left,
                   tosa_type(in.value(node.outputs[0]).dtype));
}

Result<ValueId> of_floats(Lowering& in, const Node& node, Wanted wanted) {
  const auto real = [&](size_t i) { return converted(in.out, in.operand(node.inputs[i]), DType::kFp32); };
  const ValueId result = wanted == Wanted::kQuotient ? whole_quotient(in.out, real(0), real(1), rounding_of(node))
                                                     : remainder_of(in.out, real(0), real(1), rounding_of(node));
  return converted(in.out, result, tosa_type(in.value(node.outputs[0]).dtype));
}

// Both operands in int32 on one scale. The only error is that of the alignment, which has as many bits as for an
// addition. A divisor of 0 is replaced by the smallest one, so the quotient saturates, as infinity would.
Result<ValueId> of_quantized(Lowering& in, const Node& node, Wanted wanted) {
  const Quantization& a = in.quantization(node.inputs[0]);
  const Quantization& b = in.quantization(node.inputs[1]);
  const Quantization& to = in.quantization(node.outputs[0]);
  const double step =
      std::max(a.scale(), b.scale()) / std::ldexp(1.0, alignment_log2(in.target.idioms, a.dtype, b.dtype));
  const auto aligned = [&](size_t i, const Quantization& q) {
    return in.out.rescale(
        in.operand(node.inputs[i]),
        {.scales = {q.scale() / step}, .input_zp = q.zero_point(), .output_zp = 0, .to = DType::kInt32});
  };
  Terms t(in.out);
  ValueId divisor = aligned(1, b);
  const ValueId zero = t.number(0, divisor);
  const ValueId one = t.number(1, divisor);
  divisor = in.out.select(in.out.compare(TosaOp::EQUAL, divisor, zero), one, divisor);
  const Division result = divided(in.out, aligned(0, a), divisor, rounding_of(node));
  const bool quotient = wanted == Wanted::kQuotient;
  return in.within_range(
      in.out.rescale(quotient ? result.quotient : result.left, {.scales = {(quotient ? 1 : step) / to.scale()},
                                                                .input_zp = 0,
                                                                .output_zp = to.zero_point(),
                                                                .to = to.dtype}),
      to);
}

template <Wanted kWanted>
Result<ValueId> division(Lowering& in, const Node& node) {
  if (in.is_quantized(node)) return of_quantized(in, node, kWanted);
  const bool integers = !is_float(in.value(node.inputs[0]).dtype) && !is_float(in.value(node.inputs[1]).dtype);
  return integers ? of_integers(in, node, kWanted) : of_floats(in, node, kWanted);
}

constexpr LoweringRow kDivisionRows[] = {
    {.op = AtenOp::div_Tensor_mode,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = division<Wanted::kQuotient>},
    {.op = AtenOp::remainder_Tensor,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = division<Wanted::kRemainder>},
    {.op = AtenOp::fmod_Tensor,
     .integers = PlainIntegers::kAny,
     .legal = always,
     .lower = division<Wanted::kRemainder>},
};
static_assert(lowers_all_of(kDivisionRows, {AtenFamily::kDivision}));

}  // namespace

ValueId whole_quotient(ir::Emitter& out, ValueId a, ValueId b, Rounding rounding) {
  if (rounding == Rounding::kFloor) return floor_quotient(out, a, b);
  Terms t(out);
  const ValueId size_of_b = out.unary(TosaOp::ABS, b);
  const ValueId size = floor_quotient(out, out.unary(TosaOp::ABS, a), size_of_b);
  return t.negated_if(t.opposite_signs(a, b), size);
}

ValueId remainder_of(ir::Emitter& out, ValueId a, ValueId b, Rounding rounding) {
  Terms t(out);
  return t.sub(a, t.mul(whole_quotient(out, a, b, rounding), b));
}

double remainder_of(double a, double b, Rounding rounding) {
  const double left = std::fmod(a, b);
  return rounding == Rounding::kFloor && left != 0 && (left < 0) != (b < 0) ? left + b : left;
}

// Source: div_floor_floating of PyTorch.
double whole_quotient(double a, double b, Rounding rounding) {
  if (b == 0 || rounding == Rounding::kTrunc) return std::trunc(a / b);
  const double quotient = (a - remainder_of(a, b, Rounding::kFloor)) / b;
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

std::span<const LoweringRow> division_rows() {
  return kDivisionRows;
}

}  // namespace carina::lower
