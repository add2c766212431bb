#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

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

// Whether LiteRT's two roundings of x * 2^left * multiplier equal one rounding for every x up to the limit. They do if
// the exponent is 0, because the second one shifts by nothing then.
bool rounds_alike(const Multiplier& multiplier, int left, int32_t limit) {
  const int shift = 31 - multiplier.exponent - left;
  if (shift < 10 || shift > 62) return false;
  for (int32_t x = -limit; x <= limit; ++x) {
    if (scaled_once(x, left, multiplier) != multiply(x * (1 << left), multiplier)) return false;
  }
  return true;
}

// (x - zero_point) * 2^left * multiplier in int32, rounded once.
ValueId operand_scaled_once(Call& call, size_t i, int left, const Multiplier& multiplier) {
  return call.rescale(call.value(i),
                      {.multipliers = {{.multiplier = multiplier.multiplier, .exponent = multiplier.exponent + left}},
                       .input_zp = Call::zero_point(call.in(i)),
                       .to = DType::kInt32,
                       .rounding = ir::kSingleRound});
}

// (x - zero_point) * 2^left * multiplier in int32, |x - zero_point| < 2^16.
ValueId scaled_operand(Call& call, size_t i, int left, const Multiplier& multiplier) {
  const int64_t zero = Call::zero_point(call.in(i));
  const ValueId input = call.value(i);
  const bool is_8 = call.out.dtype(input) == DType::kInt8;
  if ((is_8 || zero == 0) && rounds_alike(multiplier, left, is_8 ? 255 : 1 << 15))
    return operand_scaled_once(call, i, left, multiplier);
  ValueId wide;
  if (is_8) {
    wide = call.rescale(
        input, {.multipliers = {{.multiplier = 1 << 30, .exponent = left + 1}}, .input_zp = zero, .to = DType::kInt32});
  } else {
    wide = call.out.binary(TosaOp::MUL, call.widened(input, zero),
                           call.out.splat(DType::kInt32, std::ldexp(1.0, left), 1));
  }
  return call.rescale(wide, {.multipliers = {multiplier}, .to = DType::kInt32});
}

// The parameters of an 8-bit ADD or SUB: each operand's multiplier (of x * 2^left), and that of the sum.
struct Sum8 {
  std::array<Multiplier, 2> operands;
  Multiplier of_sum;
  int left = 0;
  std::array<int64_t, 2> zero_points;
  int64_t result_zero_point = 0;
  bool subtracts = false;
};

constexpr int kValues8 = 256;
using Scaled8 = std::array<int32_t, kValues8>;  // an operand's scaled values, from that of -128

enum class Rounds : uint8_t { kOnce, kTwice };

Scaled8 scaled_values(const Sum8& sum, size_t i, const Multiplier& multiplier, Rounds rounds) {
  Scaled8 out;
  for (int v = 0; v < kValues8; ++v) {
    const auto x = static_cast<int32_t>(v - 128 - sum.zero_points[i]);
    out[static_cast<size_t>(v)] = rounds == Rounds::kOnce ? static_cast<int32_t>(scaled_once(x, sum.left, multiplier))
                                                          : multiply(x * (1 << sum.left), multiplier);
  }
  return out;
}

// Whether all results of the operator stay the same with other scaled values of operand `i`.
bool sums_alike(const Sum8& sum, size_t i, const Scaled8& expected, const Scaled8& other) {
  const Scaled8 second = scaled_values(sum, 1 - i, sum.operands[1 - i], Rounds::kTwice);
  const auto result = [&](int32_t x, int32_t y) {
    const int32_t total = sum.subtracts ? (i == 0 ? x - y : y - x) : x + y;
    return std::clamp<int64_t>(multiply(total, sum.of_sum) + sum.result_zero_point, -128, 127);
  };
  for (size_t v = 0; v < expected.size(); ++v) {
    if (expected[v] == other[v]) continue;
    for (const int32_t y : second) {
      if (result(expected[v], y) != result(other[v], y)) return false;
    }
  }
  return true;
}

// A multiplier with which one rounding of operand `i` gives the results of LiteRT's two roundings, for every pair of
// operands. The two differ in the last of some 27 bits, of which the result keeps 8, so that mostly the same multiplier
// will do, or one close to it. The operand with the larger scale has the multiplier 1/2, whose two roundings are one.
std::optional<Multiplier> multiplier_for_one_rounding(const Sum8& sum, size_t i) {
  constexpr int32_t kFarthest = 16;
  const Scaled8 expected = scaled_values(sum, i, sum.operands[i], Rounds::kTwice);
  for (int32_t distance = 0; distance <= kFarthest; ++distance) {
    for (const int32_t step : {distance, -distance}) {
      Multiplier candidate = sum.operands[i];
      const int shift = 31 - candidate.exponent - sum.left;
      if (shift < 10 || shift > 62 || candidate.multiplier > std::numeric_limits<int32_t>::max() - distance)
        return std::nullopt;
      candidate.multiplier += step;
      if (sums_alike(sum, i, expected, scaled_values(sum, i, candidate, Rounds::kOnce))) return candidate;
    }
  }
  return std::nullopt;
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
  CARINA_CHECKED(check_shapes(call));
  ValueId made = call.out.binary(op, call.value(0), call.value(1));
  const Activation activation = call.options().activation;
  if (activation == Activation::kTanh || activation == Activation::kSignBit)
    return call.reject("the fused activation is not supported", "none, RELU, RELU6 or RELU_N1_TO_1");
  const IntegerRange range = range_of(DType::kInt32);
  const Limits limits = limits_of(activation, 1, 0, {.min = range.min, .max = range.max});
  const auto bounded = [&](TosaOp bound, int64_t value) {
    made = call.out.binary(bound, made, call.out.splat(DType::kInt32, static_cast<double>(value), 1));
  };
  if (limits.min > range.min) bounded(TosaOp::MAXIMUM, limits.min);
  if (limits.max < range.max) bounded(TosaOp::MINIMUM, limits.max);
  return call.set(made);
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
  const Sum8 sum{.operands = {of_a, of_b},
                 .of_sum = of_sum,
                 .left = left,
                 .zero_points = {Call::zero_point(call.in(0)), Call::zero_point(call.in(1))},
                 .result_zero_point = Call::zero_point(call.result()),
                 .subtracts = op == TosaOp::SUB};
  const auto operand = [&](size_t i) {
    const auto once = is_16 ? std::nullopt : multiplier_for_one_rounding(sum, i);
    return once ? operand_scaled_once(call, i, left, *once) : scaled_operand(call, i, left, sum.operands[i]);
  };
  const ValueId x = operand(0), y = operand(1);
  const ValueId total = call.out.binary(op, x, y);
  const ValueId scaled = call.rescale(
      total,
      {.multipliers = {of_sum}, .output_zp = Call::zero_point(call.result()), .to = Call::type_of(call.result())});
  CARINA_TRY(const ValueId made, call.activated(scaled));
  return call.set(made);
}

Result<void> chosen(Call& call, TosaOp op) {
  if (is_int32(call)) return plain(call, op);
  CARINA_CHECKED(check_operands(call, kOf8Or16));
  // LiteRT compares the stored integers, whatever the quantizations.
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

// Whether two operands compare as their stored integers do: they have one quantization, with which none of the scaled
// values are equal.
bool compare_as_stored(const Call& call) {
  const Multiplier multiplier = multiplier_of(Call::scale(call.in(0)));
  const int64_t zero = Call::zero_point(call.in(0));
  if (Call::scale(call.in(1)) != Call::scale(call.in(0)) || Call::zero_point(call.in(1)) != zero) return false;
  const auto scaled = [&](int64_t x) { return multiply(static_cast<int32_t>(x - zero) * 256, multiplier); };
  const IntegerRange range = range_of(Call::type_of(call.in(0)));
  for (int64_t x = range.min; x < range.max; ++x) {
    if (scaled(x) >= scaled(x + 1)) return false;
  }
  return true;
}

// Comparisons: each operand is scaled with 8 more bits first, so that neighbors of a small scale may become equal.
// Which of 16 bits is greater, LiteRT decides by the stored integers, whatever their scales.
Result<void> compared(Call& call, TosaOp op, bool is_swapped, bool is_inverted) {
  CARINA_CHECKED(call.need(2));
  CARINA_CHECKED(check_shapes(call));
  if (call.result().dtype != DType::kBool || call.in(0).dtype != call.in(1).dtype)
    return call.reject("the operands have different types, or the result is not bool");
  std::array<ValueId, 2> operands;
  if (call.in(0).dtype == DType::kInt32) {
    operands = {call.value(0), call.value(1)};
  } else if (call.in(0).dtype == DType::kInt16 && op != TosaOp::EQUAL) {
    operands = {call.widened(call.value(0), 0), call.widened(call.value(1), 0)};
  } else {
    std::array<Multiplier, 2> multipliers;
    for (size_t i = 0; i < 2; ++i) {
      CARINA_CHECKED(call.need_quantized(call.in(i), kOf8Or16));
      multipliers[i] = multiplier_of(Call::scale(call.in(i)));
      if (multipliers[i].exponent > 0)
        return call.reject("a scale of 1 and more is not supported here", {}, call.in(i).name);
    }
    const bool as_stored = compare_as_stored(call);
    for (size_t i = 0; i < 2; ++i)
      operands[i] = as_stored ? call.widened(call.value(i), 0) : scaled_operand(call, i, 8, multipliers[i]);
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

namespace {

// An int32 value times a multiplier with an exponent of 0 and more, as LiteRT computes it, in int16: the value is
// shifted to the left first, and its upper bits are lost. RESCALE shifts in more bits, and is not defined for such
// values, nor for a result of more than 30 bits.
ValueId scaled_in_32_bits(Call& call, ValueId value, const Multiplier& multiplier) {
  const size_t rank = call.out.shape(value).rank();
  const auto number = [&](int32_t x) { return call.out.splat(DType::kInt32, x, rank); };
  if (multiplier.exponent > 0) value = call.out.binary(TosaOp::LOGICAL_LEFT_SHIFT, value, number(multiplier.exponent));
  value = call.out.emit(TosaOp::MUL, {value, number(multiplier.multiplier), call.out.integer(DType::kInt8, 31)}, {},
                        {.dtype = DType::kInt32, .shape = call.out.shape(value), .suffix = "scaled"});
  value = call.out.binary(TosaOp::MINIMUM, value, number(32767));
  value = call.out.binary(TosaOp::MAXIMUM, value, number(-32768));
  return call.narrowed(value, DType::kInt16, 0);
}

}  // namespace

Result<void> product(Call& call) {
  if (is_int32(call)) return plain(call, TosaOp::MUL);
  CARINA_CHECKED(check_operands(call, kOf8Or16));
  // LiteRT computes this factor in float.
  const float factor = Call::scale(call.in(0)) * Call::scale(call.in(1)) / Call::scale(call.result());
  const Multiplier multiplier = multiplier_of(factor);
  if (multiplier.exponent > 14) return call.reject("the ratio of the scales is too large");
  const ValueId a = call.widened(call.value(0), Call::zero_point(call.in(0)));
  const ValueId b = call.widened(call.value(1), Call::zero_point(call.in(1)));
  const ValueId product = call.out.binary(TosaOp::MUL, a, b);
  const DType type = Call::type_of(call.result());
  const ValueId scaled =
      type == DType::kInt16 && multiplier.exponent >= 0
          ? scaled_in_32_bits(call, product, multiplier)
          : call.rescale(product,
                         {.multipliers = {multiplier}, .output_zp = Call::zero_point(call.result()), .to = type});
  CARINA_TRY(const ValueId made, call.activated(scaled));
  return call.set(made);
}

Result<void> maximum(Call& call) {
  return chosen(call, TosaOp::MAXIMUM);
}

Result<void> minimum(Call& call) {
  return chosen(call, TosaOp::MINIMUM);
}

namespace {

// Whether x * above and x * slope * below, each rounded, are in the order that makes the greater one PReLU's result for
// every x and slope of 8 bits: the former for x >= 0, the latter below. They are if no slope is above 1, unless
// roundings come in between.
bool is_greater_one(const Multiplier& above, const Multiplier& below, int64_t zero, std::span<const int64_t> slopes) {
  for (int64_t x = -128 - zero; x <= 127 - zero; ++x) {
    const int32_t kept = multiply(static_cast<int32_t>(x), above);
    for (const int64_t slope : slopes) {
      const int32_t scaled = multiply(static_cast<int32_t>(x * slope), below);
      if (x >= 0 ? kept < scaled : kept > scaled) return false;
    }
  }
  return true;
}

}  // namespace

// PRELU(x, alpha): x above zero, alpha * x below, each with its own factor. If alpha is constant and at most 1, the
// result is the greater one. Otherwise it is their sum, of which one is always 0.
Result<void> prelu(Call& call) {
  CARINA_CHECKED(check_operands(call, kOf8));
  const float in = Call::scale(call.in(0)), alpha = Call::scale(call.in(1)), result = Call::scale(call.result());
  const Multiplier above = multiplier_of(in / result), below = multiplier_of(in * alpha / result);
  if (std::max(above.exponent, below.exponent) > 12) return call.reject("the ratio of the scales is too large");
  const int64_t zero_point = Call::zero_point(call.in(0)), slope_zero = Call::zero_point(call.in(1));
  const int64_t result_zero = Call::zero_point(call.result());
  const ValueId x = call.widened(call.value(0), zero_point);
  const ValueId slope = call.widened(call.value(1), slope_zero);
  if (call.in(1).is_constant) {
    CARINA_TRY(std::vector<int64_t> slopes, call.constant(1, "alpha"));
    for (int64_t& one : slopes) one -= call.in(1).quantization.zero_points.front();
    std::ranges::sort(slopes);
    slopes.erase(std::ranges::unique(slopes).begin(), slopes.end());
    if (is_greater_one(above, below, zero_point, slopes)) {
      const auto scaled = [&](ValueId value, const Multiplier& multiplier) {
        const ValueId narrow =
            call.rescale(value, {.multipliers = {multiplier}, .output_zp = result_zero, .to = DType::kInt8});
        return call.widened(narrow, 0);
      };
      const ValueId greater =
          call.out.binary(TosaOp::MAXIMUM, scaled(x, above), scaled(call.out.binary(TosaOp::MUL, x, slope), below));
      return call.set(call.narrowed(greater, DType::kInt8, 0));
    }
  }
  const ValueId zero = call.out.splat(DType::kInt32, 0, 1);
  const ValueId positive =
      call.rescale(call.out.binary(TosaOp::MAXIMUM, x, zero), {.multipliers = {above}, .to = DType::kInt32});
  const ValueId product = call.out.binary(TosaOp::MUL, call.out.binary(TosaOp::MINIMUM, x, zero), slope);
  const ValueId negative = call.rescale(product, {.multipliers = {below}, .to = DType::kInt32});
  return call.set(call.narrowed(call.out.binary(TosaOp::ADD, positive, negative), DType::kInt8, result_zero));
}

}  // namespace carina::tflite
