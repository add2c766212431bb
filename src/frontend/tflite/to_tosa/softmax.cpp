#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "frontend/tflite/to_tosa/ops_internal.h"
#include "tensor/elements.h"

// SOFTMAX of int8, along the last axis, as LiteRT's reference kernel computes it in fixed point:
//   e    = exp((x - max) * beta * scale)      Q0.31: one of 256 values
//   sum  = sum of e / 2^12                    Q12.19
//   r    = 1 / (sum as a number in [1/2, 1))  Q0.31, from 48/17 - 32/17 x by three Newton steps
//   y    = e * r, shifted by what the sum's position left, and moved to the smallest integer of the type
// Rows of two elements are one product and one lookup, since both results depend on the difference alone.
// TOSA has no table of 32-bit values: e is put together from four tables of bytes. An NPU has one, and the planner
// finds that the four are one.
namespace carina::tflite {

namespace {

using ir::ValueId;

constexpr std::array kInputs{DType::kInt8, DType::kUInt8};
constexpr std::array kResults{DType::kInt8, DType::kUInt8, DType::kInt16};
constexpr size_t kDifferences = 256;                                                              // 0 down to -255
constexpr int64_t kLargestIndex = 127;                                                            // of difference 0
constexpr int64_t kOne = int64_t{1} << 29, k48Over17 = 1515870810, kMinus32Over17 = -1010580540;  // Q2.29

using Exponentials = std::array<int32_t, kDifferences>;  // by -difference

// exp(-i * scale * beta), 0 where the scaled difference has more than 5 integer bits.
Exponentials exponentials_of(double scale) {
  constexpr int kIntegerBits = 5, kFractionBits = 31 - kIntegerBits;
  const Multiplier multiplier =
      multiplier_of(std::min(scale * (1 << kFractionBits), static_cast<double>((int64_t{1} << 31) - 1)));
  const double radius = std::floor(static_cast<double>((1 << kIntegerBits) - 1) * (1 << kFractionBits) /
                                   std::ldexp(1.0, multiplier.exponent));
  Exponentials out{};
  for (size_t i = 0; i < kDifferences; ++i) {
    if (static_cast<double>(i) <= radius) out[i] = exp_of_negative(multiply(-static_cast<int32_t>(i), multiplier));
  }
  return out;
}

// Whether it matters that LiteRT's reciprocal of 1, 2^31 in Q0.31, saturates to 2^31 - 1. An exponential above a half
// times that is one less. The sum is a power of two then, with at most 12 leading zeros, so that the product loses at
// least 43 - bits - 12 bits afterwards, and mostly the one with them.
bool saturation_matters(const Exponentials& values, int bits) {
  const auto shifted = [](int64_t value, int by) { return (value + (int64_t{1} << (by - 1))) >> by; };
  for (const int32_t e : values) {
    if (e <= 1 << 30) continue;
    for (int zeros = 1; zeros <= 12; ++zeros) {
      const int by = 12 + 31 - bits - zeros;
      if (shifted(e, by) != shifted(int64_t{e} - 1, by)) return true;
    }
  }
  return false;
}

class Softmax {
 public:
  Softmax(Call& call, const Shape& shape) : call_(call), out_(call.out), axis_(shape.rank() - 1) {}

  // exp of the differences to the largest element.
  ValueId exponentials(ValueId input, const Exponentials& values);
  // 1 / the sum of the exponentials in Q0.(fraction bits), and its position: the number of leading zeros.
  struct Reciprocal {
    ValueId value;
    ValueId leading_zeros;
    int fraction_bits = 31;
  };
  Reciprocal reciprocal(ValueId exponentials, bool saturates);
  ValueId scaled(ValueId exponentials, const Reciprocal& by, int bits);

 private:
  ValueId number(int64_t value) { return out_.splat(DType::kInt32, static_cast<double>(value), axis_ + 1); }
  ValueId binary(TosaOp op, ValueId a, ValueId b) { return out_.binary(op, a, b); }
  // a * b / 2^shift, rounded half up.
  ValueId multiply_high(ValueId a, ValueId b, int shift = 31);
  ValueId shifted_right(ValueId value, ValueId by);

  Call& call_;
  ir::Emitter& out_;
  size_t axis_;
};

ValueId Softmax::multiply_high(ValueId a, ValueId b, int bits) {
  const auto shape = broadcast(out_.shape(a), out_.shape(b));
  const ValueId shift = out_.integer(DType::kInt8, bits);
  return out_.emit(TosaOp::MUL, {a, b, shift}, {}, {.dtype = DType::kInt32, .shape = *shape, .suffix = "product"});
}

ValueId Softmax::shifted_right(ValueId value, ValueId by) {
  const auto shape = broadcast(out_.shape(value), out_.shape(by));
  return out_.emit(TosaOp::ARITHMETIC_RIGHT_SHIFT, {value, by}, {{"round", true}},
                   {.dtype = DType::kInt32, .shape = *shape, .suffix = "shifted"});
}

ValueId Softmax::exponentials(ValueId input, const Exponentials& values) {
  const ValueId largest = out_.reduce(TosaOp::REDUCE_MAX, input, axis_);
  const ValueId difference = binary(TosaOp::SUB, out_.cast(input, DType::kInt32), out_.cast(largest, DType::kInt32));
  // 0 down to -255 becomes 127 down to -128, the index of four tables: one per byte.
  const ValueId index = call_.rescale(
      difference,
      {.multipliers = {{.multiplier = 1 << 30, .exponent = 1}}, .output_zp = kLargestIndex, .to = DType::kInt8});
  ValueId sum;
  int64_t offset = 0;
  for (const int shift : {24, 16, 8, 0}) {
    // The bytes below the highest one are stored 128 less.
    const int64_t less = shift == 24 ? 0 : 128;
    offset += less << shift;
    const ValueId part = out_.cast(call_.looked_up(index,
                                                   [&](int64_t x) {
                                                     const int32_t e = values[static_cast<size_t>(kLargestIndex - x)];
                                                     return (e >> shift & 0xff) - less;
                                                   }),
                                   DType::kInt32);
    const ValueId shifted = shift == 0 ? part : binary(TosaOp::MUL, part, number(int64_t{1} << shift));
    sum = sum.valid() ? binary(TosaOp::ADD, sum, shifted) : shifted;
  }
  return binary(TosaOp::ADD, sum, number(offset));
}

// The Newton steps give at most 2^30, and that only for a half of 2^30 and 2^30 + 1: all 2^30 halves were computed.
Softmax::Reciprocal Softmax::reciprocal(ValueId exponentials, bool saturates) {
  const ValueId sum = out_.reduce(TosaOp::REDUCE_SUM, shifted_right(exponentials, number(12)), axis_);
  const ValueId zeros = out_.unary(TosaOp::CLZ, sum);
  // The sum as a number in [1/2, 1): half of the denominator 1 + x, x in [0, 1).
  const ValueId half = binary(TosaOp::LOGICAL_LEFT_SHIFT, sum, binary(TosaOp::SUB, zeros, number(1)));
  ValueId x = binary(TosaOp::ADD, multiply_high(half, number(kMinus32Over17)), number(k48Over17));
  for (int step = 0; step < 3; ++step) {
    const ValueId error = binary(TosaOp::SUB, number(kOne), multiply_high(half, x));
    const ValueId change = multiply_high(x, error);  // Q4.27
    x = binary(TosaOp::ADD, x, binary(TosaOp::MUL, change, number(4)));
  }
  // Q2.29 of a number in [1, 2] is Q0.30 of its half.
  if (!saturates) return {.value = x, .leading_zeros = zeros, .fraction_bits = 30};
  // Q2.29 of a number in [1, 2] is Q0.31 of its half, doubled and saturated: 2^30 and above become 2^31 - 1.
  const ValueId below = binary(TosaOp::MINIMUM, x, number((int64_t{1} << 30) - 1));
  const ValueId excess = binary(TosaOp::MINIMUM, binary(TosaOp::SUB, x, below), number(1));
  const ValueId doubled = binary(TosaOp::ADD, below, below);
  return {.value = binary(TosaOp::ADD, doubled, excess), .leading_zeros = zeros};
}

ValueId Softmax::scaled(ValueId exponentials, const Reciprocal& by, int bits) {
  const ValueId exponent = binary(TosaOp::SUB, number(12 + 31 - bits), by.leading_zeros);
  return shifted_right(multiply_high(exponentials, by.value, by.fraction_bits), exponent);
}

// The kernel's result, before the smallest integer is added, of an element whose row has one other element.
//   Example: `own` and `other` are exp(0) and exp(-3): the result of 5 in a row 5, 2
int64_t share_of(int32_t own, int32_t other, int bits, bool saturates) {
  const auto high = [](int64_t a, int64_t b, int shift) { return (a * b + (int64_t{1} << (shift - 1))) >> shift; };
  const int64_t sum = high(own, 1, 12) + high(other, 1, 12);
  const int zeros = std::countl_zero(static_cast<uint32_t>(sum));
  const int64_t half = sum << (zeros - 1);
  int64_t x = high(half, kMinus32Over17, 31) + k48Over17;
  for (int step = 0; step < 3; ++step) x += 4 * high(x, kOne - high(half, x, 31), 31);
  const int64_t doubled = std::min<int64_t>(2 * x, (int64_t{1} << 31) - 1);
  const int64_t product = saturates ? high(own, doubled, 31) : high(own, x, 30);
  return high(product, 1, 12 + 31 - bits - zeros);
}

// The table of a row of two by their difference, -255 to 255; 128 units of the index are one. Nothing if two neighbors
// are too far apart for TOSA, which cannot matter here, as nothing is interpolated.
std::optional<std::vector<int64_t>> table_of_two(const Exponentials& values, DType type) {
  constexpr int64_t kMiddle = 256, kEntries = 513, kLast = static_cast<int64_t>(kDifferences) - 1;
  const int bits = type == DType::kInt8 ? 8 : 16;
  const bool saturates = saturation_matters(values, bits);
  const IntegerRange range = range_of(type);
  std::vector<int64_t> entries;
  for (int64_t i = 0; i < kEntries; ++i) {
    const int64_t difference = std::clamp(i - kMiddle, -kLast, kLast);
    const auto exponential = [&](int64_t below) { return values[static_cast<size_t>(std::max<int64_t>(below, 0))]; };
    const int64_t share = share_of(exponential(-difference), exponential(difference), bits, saturates);
    entries.push_back(std::clamp(share + range.min, range.min, range.max));
    if (i > 0 && std::abs(entries.back() - entries[entries.size() - 2]) > 32767) return std::nullopt;
  }
  return entries;
}

// Each element less the other one, times 128, by a matrix of 64 and -64; then the table.
ValueId softmax_of_two(Call& call, const std::vector<int64_t>& entries, DType type) {
  ir::Emitter& out = call.out;
  const Shape shape = call.in(0).shape;
  const std::vector<int64_t> no_bias{0, 0};
  const ValueId matrix = out.constant(
      "differences", integer_tensor(DType::kInt8, Shape{2, 1, 1, 2}, std::vector<int64_t>{64, -64, -64, 64}));
  const ValueId differences = row_products(call, {.rows = call.value(0), .matrix = matrix, .bias = no_bias});
  const ValueId index =
      call.rescale(differences, {.multipliers = {{.multiplier = 1 << 30, .exponent = 2}}, .to = DType::kInt16});
  ValueId result = out.emit(TosaOp::TABLE, {index, out.integers(DType::kInt16, entries)}, {},
                            {.dtype = DType::kInt32, .shape = out.shape(index), .suffix = "table"});
  result = call.rescale(
      result,
      {.multipliers = {{.multiplier = 1 << 30, .exponent = -6}}, .to = DType::kInt16, .rounding = ir::kSingleRound});
  if (type == DType::kInt8)
    result = call.rescale(result, {.multipliers = {{.multiplier = 1 << 30, .exponent = 1}}, .to = DType::kInt8});
  return out.reshape(result, shape);
}

}  // namespace

Result<void> softmax(Call& call) {
  CARINA_CHECKED(call.need(1));
  if (call.in(0).shape.rank() == 0) return call.reject("a scalar");
  if (call.in(0).dtype == DType::kInt16) return softmax_16(call);
  CARINA_CHECKED(call.need_quantized(call.in(0), kInputs));
  CARINA_CHECKED(call.need_quantized(call.result(), kResults, Call::ZeroPoint::kAny));
  const Shape shape = call.in(0).shape;
  constexpr int64_t kMaxDepth = 4095;  // sums of Q12.19 below 2^31
  if (shape[shape.rank() - 1] > kMaxDepth) return call.reject("the axis is too long", "at most 4095 elements");
  const double scale = static_cast<double>(call.options().beta) * static_cast<double>(Call::scale(call.in(0)));
  if (!(scale > 0) || !std::isfinite(scale)) return call.reject("beta is not positive");
  const DType type = Call::type_of(call.result());
  Softmax made(call, shape);
  const Exponentials values = exponentials_of(scale);
  if (shape[shape.rank() - 1] == 2) {
    if (const auto entries = table_of_two(values, type)) return call.set(softmax_of_two(call, *entries, type));
  }
  const int bits = type == DType::kInt8 ? 8 : 16;
  const ValueId exponentials = made.exponentials(call.value(0), values);
  const ValueId result =
      made.scaled(exponentials, made.reciprocal(exponentials, saturation_matters(values, bits)), bits);
  return call.set(call.narrowed(result, type, range_of(type).min));
}

}  // namespace carina::tflite
