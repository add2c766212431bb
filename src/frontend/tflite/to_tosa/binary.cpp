#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/tflite/to_tosa/ops_internal.h"

// ADD, SUB, MUL, MAXIMUM, MINIMUM and PRELU.
//   ADD, int8: both operands in units of max(scales) * 2^-19 (int16: 2^-14), summed in 32 bits, and scaled to the
//   result.
namespace carina::tflite {

namespace {

using ir::ValueId;

Result<void> check_shapes(const Call& call) {
  const size_t rank = std::max(call.in(0).shape.rank(), call.in(1).shape.rank());
  const auto extended = [&](const Shape& shape) {
    std::vector<int64_t> dims(rank - shape.rank(), 1);
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
    return Shape(dims);
  };
  if (!broadcast(extended(call.in(0).shape), extended(call.in(1).shape)))
    return call.reject("the operands' shapes do not fit", to_string(call.in(0).shape), to_string(call.in(1).shape));
  return {};
}

Result<void> check_operands(const Call& call, std::span<const DType> types) {
  CARINA_CHECKED(call.need(2));
  for (const Tensor* tensor : {&call.in(0), &call.in(1), &call.result()}) {
    CARINA_CHECKED(call.need_quantized(*tensor, types));
    if (tensor->dtype != call.result().dtype)
      return call.reject("operands and result have different types", call.result().type_name, tensor->type_name);
  }
  return check_shapes(call);
}

// x * 2^left * multiplier for every x of an 8-bit operand by one RESCALE that rounds once, if that gives the same. The
// first of two roundings loses 2^-31 of the product, so this is nearly always so.
bool rounds_alike(const Multiplier& multiplier, int left) {
  const int shift = 31 - multiplier.exponent - left;
  if (shift < 10 || shift > 62) return false;
  for (int32_t x = -255; x <= 255; ++x) {
    const int64_t once = (int64_t{x} * multiplier.multiplier + (int64_t{1} << (shift - 1))) >> shift;
    if (once != multiply(x * (1 << left), multiplier)) return false;
  }
  return true;
}

// (x - zero_point) * 2^left * multiplier in int32, |x - zero_point| < 2^16.
ValueId scaled_operand(Call& call, size_t i, int left, const Multiplier& multiplier) {
  const int64_t zero = Call::zero_point(call.in(i));
  const ValueId input = call.value(i);
  if (call.out.dtype(input) == DType::kInt8 && rounds_alike(multiplier, left))
    return call.rescale(input,
                        {.multipliers = {{.multiplier = multiplier.multiplier, .exponent = multiplier.exponent + left}},
                         .input_zp = zero,
                         .to = DType::kInt32,
                         .rounding = ir::kSingleRound});
  ValueId wide;
  if (call.out.dtype(input) == DType::kInt8) {
    wide = call.rescale(
        input, {.multipliers = {{.multiplier = 1 << 30, .exponent = left + 1}}, .input_zp = zero, .to = DType::kInt32});
  } else {
    wide = call.out.binary(TosaOp::MUL, call.widened(input, zero),
                           call.out.splat(DType::kInt32, std::ldexp(1.0, left), 1));
  }
  return call.rescale(wide, {.multipliers = {multiplier}, .to = DType::kInt32});
}

constexpr std::array kInt32{DType::kInt32};

bool is_int32(const Call& call) {
  return call.inputs() >= 2 && call.has(0) && call.results() > 0 && call.in(0).dtype == DType::kInt32;
}

// int32 operands without quantization. Results wrap in LiteRT; in TOSA, overflow is an error.
Result<void> plain(Call& call, TosaOp op) {
  CARINA_CHECKED(call.need(2));
  for (const Tensor* tensor : {&call.in(0), &call.in(1), &call.result()})
    CARINA_CHECKED(call.need_type(*tensor, kInt32));
  if (call.options().activation != Activation::kNone) return call.reject("a fused activation is not supported here");
  CARINA_CHECKED(check_shapes(call));
  return call.set(call.out.binary(op, call.value(0), call.value(1)));
}

Result<void> added(Call& call, TosaOp op) {
  if (is_int32(call)) return plain(call, op);
  CARINA_CHECKED(check_operands(call, kOf8Or16));
  const bool is_16 = call.result().dtype == DType::kInt16;
  const int left = is_16 ? 15 : 20;
  const float a = Call::scale(call.in(0)), b = Call::scale(call.in(1)), result = Call::scale(call.result());
  const auto is_power_of_2 = [](float scale) {
    int exponent = 0;
    return std::frexp(scale, &exponent) == 0.5F;
  };
  if (is_16 && call.options().pot_scale_int16 && is_power_of_2(a) && is_power_of_2(b) && is_power_of_2(result))
    return call.reject("int16 operands whose scales are powers of two are not supported");
  const double twice = 2 * std::max(a, b);
  const Multiplier of_a = multiplier_of(a / twice), of_b = multiplier_of(b / twice);
  const Multiplier of_sum = multiplier_of(twice / static_cast<double>(static_cast<float>(1 << left) * result));
  if (of_sum.exponent > 0) return call.reject("the result's scale is too small for the operands'");
  const ValueId x = scaled_operand(call, 0, left, of_a), y = scaled_operand(call, 1, left, of_b);
  const ValueId total = call.out.binary(op, x, y);
  const ValueId scaled = call.rescale(
      total,
      {.multipliers = {of_sum}, .output_zp = Call::zero_point(call.result()), .to = Call::type_of(call.result())});
  CARINA_TRY(const ValueId made, call.activated(scaled));
  return call.set(made);
}

Result<void> chosen(Call& call, TosaOp op) {
  CARINA_CHECKED(check_operands(call, kOf8Or16));
  for (const Tensor* tensor : {&call.in(0), &call.in(1)}) {
    if (Call::zero_point(*tensor) != Call::zero_point(call.result()) ||
        Call::scale(*tensor) != Call::scale(call.result()))
      return call.reject("operands and result have different quantizations", {}, tensor->name,
                         "LiteRT compares the stored integers then, which is not what the model says");
  }
  // TOSA compares int32 only.
  const ValueId a = call.widened(call.value(0), 0), b = call.widened(call.value(1), 0);
  return call.set(call.narrowed(call.out.binary(op, a, b), Call::type_of(call.result()), 0));
}

}  // namespace

Result<void> sum(Call& call) {
  return added(call, TosaOp::ADD);
}

Result<void> difference(Call& call) {
  return added(call, TosaOp::SUB);
}

Result<void> quotient(Call& call) {
  return plain(call, TosaOp::INTDIV);
}

// (a - b)^2 of two 8-bit operands with 7 more bits.
Result<void> squared_difference(Call& call) {
  CARINA_CHECKED(check_operands(call, kOf8));
  constexpr int kLeft = 7;
  const float a = Call::scale(call.in(0)), b = Call::scale(call.in(1));
  const double twice = 2.0 * static_cast<double>(std::max(a, b));
  const Multiplier of_square =
      multiplier_of(twice * twice / ((1 << (2 * kLeft)) * static_cast<double>(Call::scale(call.result()))));
  if (of_square.exponent > 0) return call.reject("the result's scale is too small for the operands'");
  const ValueId x = scaled_operand(call, 0, kLeft, multiplier_of(a / twice));
  const ValueId y = scaled_operand(call, 1, kLeft, multiplier_of(b / twice));
  const ValueId distance = call.out.binary(TosaOp::SUB, x, y);
  return call.set(call.rescale(
      call.out.binary(TosaOp::MUL, distance, distance),
      {.multipliers = {of_square}, .output_zp = Call::zero_point(call.result()), .to = Call::type_of(call.result())}));
}

namespace {

// Comparisons of 8-bit operands: each is scaled with 8 more bits first, so that neighbors of a small scale may become
// equal.
Result<void> compared(Call& call, TosaOp op, bool is_swapped, bool is_inverted) {
  CARINA_CHECKED(call.need(2));
  CARINA_CHECKED(check_shapes(call));
  if (call.result().dtype != DType::kBool || call.in(0).dtype != call.in(1).dtype)
    return call.reject("the operands have different types, or the result is not bool");
  std::array<ValueId, 2> operands;
  for (size_t i = 0; i < 2; ++i) {
    if (call.in(i).dtype == DType::kInt32) {
      operands[i] = call.value(i);
      continue;
    }
    CARINA_CHECKED(call.need_quantized(call.in(i), kOf8));
    const Multiplier multiplier = multiplier_of(Call::scale(call.in(i)));
    if (multiplier.exponent > 0) return call.reject("a scale of 1 and more is not supported here", {}, call.in(i).name);
    operands[i] = scaled_operand(call, i, 8, multiplier);
  }
  if (is_swapped) std::swap(operands[0], operands[1]);
  const ValueId made = call.out.compare(op, operands[0], operands[1]);
  return call.set(is_inverted ? call.out.unary(TosaOp::LOGICAL_NOT, made) : made);
}

Result<void> logical(Call& call, TosaOp op) {
  constexpr std::array kBool{DType::kBool};
  CARINA_CHECKED(call.need(2));
  for (const size_t i : {0, 1}) CARINA_CHECKED(call.need_type(call.in(i), kBool));
  CARINA_CHECKED(check_shapes(call));
  return call.set(call.out.binary(op, call.value(0), call.value(1)));
}

}  // namespace

Result<void> equal(Call& call) {
  return compared(call, TosaOp::EQUAL, false, false);
}

Result<void> not_equal(Call& call) {
  return compared(call, TosaOp::EQUAL, false, true);
}

Result<void> greater(Call& call) {
  return compared(call, TosaOp::GREATER, false, false);
}

Result<void> greater_equal(Call& call) {
  return compared(call, TosaOp::GREATER_EQUAL, false, false);
}

Result<void> less(Call& call) {
  return compared(call, TosaOp::GREATER, true, false);
}

Result<void> less_equal(Call& call) {
  return compared(call, TosaOp::GREATER_EQUAL, true, false);
}

Result<void> logical_and(Call& call) {
  return logical(call, TosaOp::LOGICAL_AND);
}

Result<void> logical_or(Call& call) {
  return logical(call, TosaOp::LOGICAL_OR);
}

Result<void> logical_not(Call& call) {
  constexpr std::array kBool{DType::kBool};
  CARINA_CHECKED(call.need(1));
  CARINA_CHECKED(call.need_type(call.in(0), kBool));
  return call.set(call.out.unary(TosaOp::LOGICAL_NOT, call.value(0)));
}

Result<void> product(Call& call) {
  if (is_int32(call)) return plain(call, TosaOp::MUL);
  CARINA_CHECKED(check_operands(call, kOf8Or16));
  // LiteRT computes this factor in float.
  const float factor = Call::scale(call.in(0)) * Call::scale(call.in(1)) / Call::scale(call.result());
  const Multiplier multiplier = multiplier_of(factor);
  if (multiplier.exponent > 14) return call.reject("the ratio of the scales is too large");
  const ValueId a = call.widened(call.value(0), Call::zero_point(call.in(0)));
  const ValueId b = call.widened(call.value(1), Call::zero_point(call.in(1)));
  const ValueId scaled = call.rescale(
      call.out.binary(TosaOp::MUL, a, b),
      {.multipliers = {multiplier}, .output_zp = Call::zero_point(call.result()), .to = Call::type_of(call.result())});
  CARINA_TRY(const ValueId made, call.activated(scaled));
  return call.set(made);
}

Result<void> maximum(Call& call) {
  return chosen(call, TosaOp::MAXIMUM);
}

Result<void> minimum(Call& call) {
  return chosen(call, TosaOp::MINIMUM);
}

// PRELU(x, alpha): x above zero, alpha * x below, each with its own factor. One of the two is always 0.
Result<void> prelu(Call& call) {
  CARINA_CHECKED(check_operands(call, kOf8));
  const float in = Call::scale(call.in(0)), alpha = Call::scale(call.in(1)), result = Call::scale(call.result());
  const Multiplier above = multiplier_of(in / result), below = multiplier_of(in * alpha / result);
  if (std::max(above.exponent, below.exponent) > 12) return call.reject("the ratio of the scales is too large");
  const ValueId x = call.widened(call.value(0), Call::zero_point(call.in(0)));
  const ValueId slope = call.widened(call.value(1), Call::zero_point(call.in(1)));
  const ValueId zero = call.out.splat(DType::kInt32, 0, 1);
  const ValueId positive =
      call.rescale(call.out.binary(TosaOp::MAXIMUM, x, zero), {.multipliers = {above}, .to = DType::kInt32});
  const ValueId product = call.out.binary(TosaOp::MUL, call.out.binary(TosaOp::MINIMUM, x, zero), slope);
  const ValueId negative = call.rescale(product, {.multipliers = {below}, .to = DType::kInt32});
  return call.set(
      call.narrowed(call.out.binary(TosaOp::ADD, positive, negative), DType::kInt8, Call::zero_point(call.result())));
}

}  // namespace carina::tflite
