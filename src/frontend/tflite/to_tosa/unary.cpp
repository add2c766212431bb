#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "frontend/tflite/to_tosa/ops_internal.h"

// Functions of one element. Of int8 they are tables of 256 entries, computed as LiteRT's kernels compute an element or
// an entry of their own table: in float, or in fixed point.
namespace carina::tflite {

namespace {

using ir::ValueId;

Result<void> check_unary(const Call& call, std::span<const DType> types) {
  CARINA_CHECKED(call.need(1));
  CARINA_CHECKED(call.need_quantized(call.in(0), types));
  CARINA_CHECKED(call.need_quantized(call.result(), types));
  if (call.in(0).dtype == call.result().dtype) return {};
  return call.reject("input and result have different types", call.in(0).type_name, call.result().type_name);
}

using FloatFunction = std::function<float(float)>;

// LiteRT's tables: the function of the dequantized value, divided by the result's scale and rounded half away from
// zero.
Result<void> float_table(Call& call, const FloatFunction& function) {
  CARINA_CHECKED(check_unary(call, kOf8));
  const float in = Call::scale(call.in(0)), inverse = 1.0F / Call::scale(call.result());
  const int64_t in_zp = Call::zero_point(call.in(0)), out_zp = Call::zero_point(call.result());
  const ValueId made = call.looked_up(call.value(0), [&](int64_t x) {
    const float y = function(in * static_cast<float>(x - in_zp));
    return rounded(y * inverse) + out_zp;
  });
  return call.set(made);
}

float logistic_of(float x) {
  return 1.0F / (1.0F + std::exp(-x));
}

float elu_of(float x) {
  return x < 0.0F ? std::expm1(x) : x;
}

float gelu_of(float x) {
  return 0.5F * x * (1 + std::erf(x * static_cast<float>(std::numbers::sqrt2 / 2)));
}

float gelu_by_tanh(float x) {
  constexpr auto kFactor = static_cast<float>(std::numbers::inv_sqrtpi * std::numbers::sqrt2);
  return 0.5F * x * (1.0F + std::tanh(kFactor * (x + 0.044715F * std::pow(x, 3.0F))));
}

// RELU and its kin as operators of their own: RESCALE and CLAMP.
Result<void> rectified(Call& call, const std::function<Limits(float scale, int64_t zero_point, Limits type)>& limit) {
  CARINA_CHECKED(check_unary(call, kOf8Or16));
  const float factor = Call::scale(call.in(0)) / Call::scale(call.result());
  const Multiplier multiplier = multiplier_of(factor);
  if (multiplier.exponent > 12) return call.reject("the ratio of the scales is too large");
  const DType type = Call::type_of(call.result());
  const IntegerRange range = range_of(type);
  const Limits limits =
      limit(Call::scale(call.result()), Call::zero_point(call.result()), {.min = range.min, .max = range.max});
  if (limits.min > limits.max) return call.reject("the activation has no value in the result's range");
  if (type == DType::kInt8) {
    const auto in_zp = static_cast<int32_t>(Call::zero_point(call.in(0)));
    const auto out_zp = static_cast<int32_t>(Call::zero_point(call.result()));
    // With equal quantizations the values stay, and only limits remain, which an operation before them applies itself.
    if (factor == 1.0F && in_zp == out_zp) return call.set(call.out.clamp(call.value(0), limits.min, limits.max));
    const ValueId made = call.looked_up(call.value(0), [&](int64_t x) {
      const int64_t y = out_zp + multiply(static_cast<int32_t>(x) - in_zp, multiplier);
      return std::clamp(y, limits.min, limits.max);
    });
    return call.set(made);
  }
  const ValueId scaled = call.rescale(call.value(0), {.multipliers = {multiplier}, .to = type});
  return call.set(call.out.clamp(scaled, limits.min, limits.max));
}

}  // namespace

Result<void> logistic(Call& call) {
  CARINA_CHECKED(call.need(1));
  if (call.in(0).dtype == DType::kInt16) return logistic_16(call);
  return float_table(call, logistic_of);
}

Result<void> hyperbolic_tangent(Call& call) {
  CARINA_CHECKED(call.need(1));
  if (call.in(0).dtype == DType::kInt16) return hyperbolic_tangent_16(call);
  return float_table(call, [](float x) { return std::tanh(x); });
}

Result<void> elu(Call& call) {
  return float_table(call, elu_of);
}

Result<void> gelu(Call& call) {
  return float_table(call, call.options().approximate ? gelu_by_tanh : gelu_of);
}

namespace {

Result<void> rectified(Call& call, Activation activation) {
  return rectified(call, [&](float scale, int64_t zero_point, Limits type) {
    return limits_of(activation, scale, zero_point, type);
  });
}

}  // namespace

Result<void> relu_0_to_1(Call& call) {
  return rectified(call, [](float scale, int64_t zero_point, Limits type) {
    return Limits{.min = std::max(type.min, zero_point), .max = std::min(type.max, zero_point + rounded(1.0F / scale))};
  });
}

Result<void> exponential(Call& call) {
  CARINA_CHECKED(call.need(1));
  const auto function = [](float x) { return std::exp(x); };
  return call.in(0).dtype == DType::kInt16 ? function_16(call, function) : float_table(call, function);
}

// LiteRT gives the result's smallest number for 0 and below.
Result<void> logarithm(Call& call) {
  CARINA_CHECKED(check_unary(call, kOf8Or16));
  const IntegerRange range = range_of(Call::type_of(call.result()));
  const auto smallest = static_cast<float>(range.min - Call::zero_point(call.result())) * Call::scale(call.result());
  const auto function = [smallest](float x) { return x <= 0.0F ? smallest : std::log(x); };
  return call.result().dtype == DType::kInt16 ? function_16(call, function) : float_table(call, function);
}

// 1 / sqrt(x). LiteRT has a table for int16, and fixed-point arithmetic for int8. Numbers below 0 are an error there;
// here they give what the tables have.
Result<void> reciprocal_square_root(Call& call) {
  CARINA_CHECKED(check_unary(call, std::array{DType::kInt8, DType::kInt16}));
  const float in = Call::scale(call.in(0)), result = Call::scale(call.result());
  if (call.result().dtype == DType::kInt16) {
    const float largest = 32767.0F * result;
    return function_16(call, [largest](float x) { return x <= 0.0F ? largest : 1.0F / std::sqrt(x); });
  }
  constexpr int kShift = 20;  // of the reciprocal root, so that it is an integer
  const Multiplier multiplier = multiplier_of(1.0 / static_cast<double>(std::sqrt(in) * result));
  if (multiplier.exponent - kShift > 11) return call.reject("the ratio of the scales is too large");
  const auto in_zp = static_cast<int32_t>(Call::zero_point(call.in(0)));
  const int64_t out_zp = Call::zero_point(call.result());
  return call.set(call.looked_up(call.value(0), [&](int64_t x) {
    const int32_t value = static_cast<int32_t>(x) - in_zp;
    if (value <= 0) return int64_t{127};
    Multiplier root = inverse_square_root(value);
    root.exponent += kShift;
    return multiply(multiply(1, root),
                    {.multiplier = multiplier.multiplier, .exponent = multiplier.exponent - kShift}) +
           out_zp;
  }));
}

// |x| with another scale.
Result<void> absolute(Call& call) {
  CARINA_CHECKED(check_unary(call, kOf8Or16));
  const Multiplier multiplier = multiplier_of(Call::scale(call.in(0)) / Call::scale(call.result()));
  if (multiplier.exponent > 12) return call.reject("the ratio of the scales is too large");
  const auto in_zp = static_cast<int32_t>(Call::zero_point(call.in(0)));
  const int64_t out_zp = Call::zero_point(call.result());
  if (Call::type_of(call.result()) == DType::kInt8)
    return call.set(call.looked_up(call.value(0), [&](int64_t x) {
      return multiply(std::abs(static_cast<int32_t>(x) - in_zp), multiplier) + out_zp;
    }));
  const ValueId magnitude = call.out.unary(TosaOp::ABS, call.widened(call.value(0), 0));
  return call.set(call.rescale(magnitude, {.multipliers = {multiplier}, .to = DType::kInt16}));
}

// LiteRT negates the stored integers, whatever the quantizations are; -(-128) wraps.
Result<void> negated(Call& call) {
  CARINA_CHECKED(call.need(1));
  CARINA_CHECKED(call.need_type(call.in(0), std::array{DType::kInt8}));
  return call.set(call.looked_up(call.value(0), [](int64_t x) { return x == -128 ? -128 : -x; }));
}

Result<void> relu(Call& call) {
  return rectified(call, Activation::kRelu);
}

Result<void> relu6(Call& call) {
  return rectified(call, Activation::kRelu6);
}

Result<void> relu_n1_to_1(Call& call) {
  return rectified(call, Activation::kReluN1To1);
}

namespace {

// Whether x * above is the greater of the two products for all x >= 0 of 16 bits, and x * below for those below 0. It
// is with a slope of at most 1, unless two roundings turn neighbors around.
bool is_greater_leak(const Multiplier& above, const Multiplier& below) {
  for (int32_t x = std::numeric_limits<int16_t>::min(); x <= std::numeric_limits<int16_t>::max(); ++x) {
    const int32_t kept = multiply(x, above), leak = multiply(x, below);
    if (x >= 0 ? kept < leak : kept > leak) return false;
  }
  return true;
}

}  // namespace

Result<void> leaky_relu(Call& call) {
  CARINA_CHECKED(check_unary(call, kOf8Or16));
  const float in = Call::scale(call.in(0)), result = Call::scale(call.result());
  const Multiplier above = multiplier_of(in / result);
  const float slope = in * call.options().alpha / result;
  // Below zero, a negative slope of x is a positive one of -x.
  const bool turns = slope < 0;
  const Multiplier below = multiplier_of(std::abs(slope));
  if (std::max(above.exponent, below.exponent) > 12) return call.reject("the ratio of the scales is too large");
  const auto in_zp = static_cast<int32_t>(Call::zero_point(call.in(0)));
  const auto out_zp = static_cast<int32_t>(Call::zero_point(call.result()));
  if (Call::type_of(call.result()) == DType::kInt8) {
    const ValueId made = call.looked_up(call.value(0), [&](int64_t x) {
      const int32_t value = static_cast<int32_t>(x) - in_zp;
      return int64_t{out_zp} + (value >= 0 ? multiply(value, above) : multiply(turns ? -value : value, below));
    });
    return call.set(made);
  }
  // The greater one of both, if it is for every input; otherwise their sum, of which one is always 0.
  if (!turns && is_greater_leak(above, below)) {
    const auto scaled = [&](const Multiplier& multiplier) {
      return call.widened(call.rescale(call.value(0), {.multipliers = {multiplier}, .to = DType::kInt16}), 0);
    };
    const ValueId kept = in == result ? call.widened(call.value(0), 0) : scaled(above);
    return call.set(call.narrowed(call.out.binary(TosaOp::MAXIMUM, kept, scaled(below)), DType::kInt16, 0));
  }
  const ValueId x = call.widened(call.value(0), 0);
  const ValueId zero = call.out.splat(DType::kInt32, 0, 1);
  const ValueId positive =
      call.rescale(call.out.binary(TosaOp::MAXIMUM, x, zero), {.multipliers = {above}, .to = DType::kInt32});
  const ValueId low = call.out.binary(TosaOp::MINIMUM, x, zero);
  const ValueId negative = call.rescale(turns ? call.out.binary(TosaOp::SUB, zero, low) : low,
                                        {.multipliers = {below}, .to = DType::kInt32});
  return call.set(call.narrowed(call.out.binary(TosaOp::ADD, positive, negative), DType::kInt16, 0));
}

namespace {

int16_t saturated(int64_t value) {
  return static_cast<int16_t>(
      std::clamp<int64_t>(value, std::numeric_limits<int16_t>::min(), std::numeric_limits<int16_t>::max()));
}

// a * b / 2^15, rounded half up (towards zero if `truncated`).
int16_t high_multiply_16(int16_t a, int16_t b) {
  return saturated((int32_t{a} * b + (1 << 14)) >> 15);
}

int16_t reduced(int32_t multiplier) {
  constexpr int32_t kRounding = 1 << 15;
  return multiplier >= std::numeric_limits<int32_t>::max() - kRounding
             ? std::numeric_limits<int16_t>::max()
             : static_cast<int16_t>((multiplier + kRounding) >> 16);
}

struct HardSwish {
  int32_t in_zp;
  int64_t out_zp;
  Multiplier output;
  Multiplier reluish;
};

// gemmlowp's division by 2^log2 in 16 bits, whose mask of the remainder wraps above 15.
int16_t rounding_divide_16(int16_t value, int log2) {
  const auto mask = static_cast<int16_t>((int64_t{1} << log2) - 1);
  const int remainder = value & mask, threshold = (mask >> 1) + (value < 0 ? 1 : 0);
  return static_cast<int16_t>((value >> log2) + (remainder > threshold ? 1 : 0));
}

// x * relu6(x + 3) / 6 in 16 bits: the input with 7 more bits; the second factor as a number in [0, 1] of 15 bits.
int64_t hard_swish_of(const HardSwish& p, int64_t x) {
  const auto fine = static_cast<int16_t>((static_cast<int32_t>(x) - p.in_zp) * (1 << 7));
  const int16_t scaled = high_multiply_16(fine, reduced(p.output.multiplier));
  int16_t factor = fine;
  if (p.reluish.exponent > 0) factor = saturated(int64_t{factor} * (int64_t{1} << (p.reluish.exponent - 1)));
  factor = high_multiply_16(factor, reduced(p.reluish.multiplier));
  if (p.reluish.exponent > 0) factor = saturated(int64_t{factor} * 2);
  if (p.reluish.exponent < 0) factor = static_cast<int16_t>(rounding_divide(factor, -p.reluish.exponent));
  factor = static_cast<int16_t>((factor + (1 << 15)) >> 1);
  const auto product = static_cast<int16_t>(int32_t{factor} * scaled / (1 << 15));  // towards zero
  return rounding_divide_16(product, -p.output.exponent) + p.out_zp;
}

}  // namespace

Result<void> hard_swish(Call& call) {
  CARINA_CHECKED(check_unary(call, kOf8));
  const float fine_scale = (1.0F / 128.0F) * Call::scale(call.in(0));
  constexpr float kReluishScale = 3.0F / 32768.0F;
  const HardSwish p{.in_zp = static_cast<int32_t>(Call::zero_point(call.in(0))),
                    .out_zp = Call::zero_point(call.result()),
                    .output = multiplier_of(fine_scale / Call::scale(call.result())),
                    .reluish = multiplier_of(fine_scale / kReluishScale)};
  if (p.output.exponent > 0 || p.output.exponent < -31 || p.reluish.exponent > 15)
    return call.reject("the ratio of the scales is too large");
  return call.set(call.looked_up(call.value(0), [&](int64_t x) { return hard_swish_of(p, x); }));
}

// QUANTIZE of integers to integers: another scale and zero point.
namespace {

// int16 with a zero point, or to int32: RESCALE has zero points of int8 only.
Result<void> requantized_wide(Call& call, const Multiplier& multiplier) {
  const Tensor& from = call.in(0);
  const size_t rank = from.shape.rank();
  const auto number = [&](int64_t value) { return call.out.splat(DType::kInt32, static_cast<double>(value), rank); };
  ValueId wide;
  if (Call::type_of(from) == DType::kInt8) {
    wide = call.widened(call.value(0), Call::zero_point(from));
  } else {
    wide = call.out.cast(call.value(0), DType::kInt32);
    if (Call::zero_point(from) != 0) wide = call.out.binary(TosaOp::SUB, wide, number(Call::zero_point(from)));
  }
  const ValueId scaled = call.rescale(wide, {.multipliers = {multiplier}, .to = DType::kInt32});
  if (call.result().dtype != DType::kInt32)
    return call.set(call.narrowed(scaled, Call::type_of(call.result()), Call::zero_point(call.result())));
  if (Call::zero_point(call.result()) == 0) return call.set(scaled);
  return call.set(call.out.binary(TosaOp::ADD, scaled, number(Call::zero_point(call.result()))));
}

}  // namespace

Result<void> requantized(Call& call) {
  CARINA_CHECKED(call.need(1));
  constexpr std::array kResultTypes{DType::kInt8, DType::kUInt8, DType::kInt16, DType::kInt32};
  CARINA_CHECKED(call.need_quantized(call.in(0), kOf8Or16, Call::ZeroPoint::kAny));
  CARINA_CHECKED(call.need_quantized(call.result(), kResultTypes, Call::ZeroPoint::kAny));
  const double factor = static_cast<double>(Call::scale(call.in(0))) / static_cast<double>(Call::scale(call.result()));
  const Multiplier multiplier = multiplier_of(factor);
  if (multiplier.exponent > 12) return call.reject("the ratio of the scales is too large");
  const auto has_zero_point_16 = [](const Tensor& tensor) {
    return tensor.dtype == DType::kInt16 && Call::zero_point(tensor) != 0;
  };
  if (call.result().dtype == DType::kInt32 || has_zero_point_16(call.in(0)) || has_zero_point_16(call.result()))
    return requantized_wide(call, multiplier);
  return call.set(call.rescale(call.value(0), {.multipliers = {multiplier},
                                               .input_zp = Call::zero_point(call.in(0)),
                                               .output_zp = Call::zero_point(call.result()),
                                               .to = Call::type_of(call.result())}));
}

}  // namespace carina::tflite
