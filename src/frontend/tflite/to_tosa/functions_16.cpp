#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>

#include "frontend/tflite/to_tosa/ops_internal.h"

// LOGISTIC, TANH, SOFTMAX and EXP of int16.
//
// LOGISTIC and TANH interpolate in one table of sigmoid(k / 24), k in 0 .. 255, with the sign taken out: tanh(x) is
// 2 sigmoid(2x) - 1. TOSA's own table of 513 entries has other steps. So the index and the rest are computed, and two
// tables give the entry and the distance to the next one:
//   v = x in units of 1 / (3 * 4096), |v| = index * 512 + rest, sum = entry * 512 + rest * distance
// SOFTMAX looks up exp of the differences to the largest element and 1 / (1 + x) of the sum's fraction in TOSA's
// tables. EXP is one of TOSA's tables.
namespace carina::tflite {

namespace {

using ir::ValueId;

constexpr std::array kInt16{DType::kInt16};
constexpr size_t kSteps = 256;

// sigmoid(k / 24) in units of 2^-16, moved by half of the error that interpolation has between k and k + 1. These are
// the numbers of LiteRT's table, whose last one is 1.
int64_t sigmoid_entry(int k) {
  if (k >= static_cast<int>(kSteps) - 1) return 65535;
  const auto value = [](double x) { return 65536.0 / (1.0 + std::exp(-x / 24.0)); };
  const double bend = value(k + 0.5) - (value(k) + value(k + 1)) / 2;
  return static_cast<int64_t>(std::floor(value(k) + bend / 2 + 0.5));
}

// Writes int32 arithmetic.
class Writer {
 public:
  Writer(Call& call, size_t rank) : call_(call), out_(call.out), rank_(rank) {}

  ValueId number(int64_t value) { return out_.splat(DType::kInt32, static_cast<double>(value), rank_); }
  ValueId binary(TosaOp op, ValueId a, ValueId b) { return out_.binary(op, a, b); }
  // value / 2^by, rounded half up.
  ValueId shifted_right(ValueId value, ValueId by) {
    const auto shape = broadcast(out_.shape(value), out_.shape(by));
    return out_.emit(TosaOp::ARITHMETIC_RIGHT_SHIFT, {value, by}, {{"round", true}},
                     {.dtype = DType::kInt32, .shape = *shape, .suffix = "shifted"});
  }
  // a * b / 2^shift, rounded half up.
  ValueId product(ValueId a, ValueId b, int shift) {
    const auto shape = broadcast(out_.shape(a), out_.shape(b));
    const ValueId by = out_.integer(DType::kInt8, shift);
    return out_.emit(TosaOp::MUL, {a, b, by}, {}, {.dtype = DType::kInt32, .shape = *shape, .suffix = "product"});
  }
  // Interpolates between 513 entries for an int16 value.
  ValueId looked_up(ValueId index, const std::vector<int64_t>& entries) {
    const ValueId table = out_.integers(DType::kInt16, entries);
    const ValueId fine = out_.emit(TosaOp::TABLE, {index, table}, {},
                                   {.dtype = DType::kInt32, .shape = out_.shape(index), .suffix = "table"});
    return call_.rescale(
        fine,
        {.multipliers = {{.multiplier = 1 << 30, .exponent = -6}}, .to = DType::kInt16, .rounding = ir::kSingleRound});
  }

 private:
  Call& call_;
  ir::Emitter& out_;
  size_t rank_;
};

// How the two functions use the table.
struct Interpolation {
  int rest_bits;   // of |v| below the index
  int64_t last;    // the entry after which the function stays
  int64_t offset;  // added to the result's sum
  int drop_bits;   // from the sum to the result
};

constexpr Interpolation kLogistic{.rest_bits = 9, .last = 0x7fff * 2, .offset = 1 << 24, .drop_bits = 10};
constexpr Interpolation kTanh{.rest_bits = 8, .last = 0xffff, .offset = 0, .drop_bits = 8};

// A factor with a right shift, which rounds half up.
struct InputScaling {
  int64_t factor;
  int shift;
};

// From an input of this scale to units of 1 / (3 * 4096). None: the scale is too large.
std::optional<InputScaling> input_scaling(float scale, const Interpolation& shape) {
  int exponent = 0;
  const bool is_power = std::frexp(scale, &exponent) == 0.5F;
  const int left = 12 + exponent - 1;
  if (is_power && (left == 0 || (left == 1 && shape.rest_bits == 8))) return InputScaling{int64_t{3} << left, 0};
  double factor = static_cast<double>(scale) * 4096.0 * 3.0;
  int shift = 0;
  while (factor <= 32767.0 / 2.0 && shift <= 30) {
    ++shift;
    factor *= 2;
  }
  if (factor > 65535) return std::nullopt;
  return InputScaling{static_cast<int64_t>(factor), shift};
}

// The function of an int16 value, in units of 1/32768.
ValueId interpolated(Call& call, ValueId input, const InputScaling& scaling, const Interpolation& shape) {
  Writer w(call, call.out.shape(input).rank());
  const ValueId v = w.product(call.widened(input, 0), w.number(scaling.factor), scaling.shift);
  const ValueId largest = w.number(int64_t{kSteps - 1} << shape.rest_bits);
  const ValueId magnitude = w.binary(TosaOp::MINIMUM, call.out.unary(TosaOp::ABS, v), largest);
  // Entries of TOSA's tables are 128 steps apart, and the first belongs to -32768.
  std::vector<int64_t> entries(513), distances(513);
  for (size_t k = 0; k < entries.size(); ++k) {
    const int at = static_cast<int>(std::min(k, kSteps - 1));
    entries[k] = (at == kSteps - 1 ? shape.last : sigmoid_entry(at)) - 32768;
    distances[k] = at == kSteps - 1 ? 0 : sigmoid_entry(at + 1) - sigmoid_entry(at);
  }
  // Rounded down: half a step less than the middle.
  const int64_t half = int64_t{1} << (shape.rest_bits - 1);
  const ValueId whole = w.shifted_right(w.binary(TosaOp::SUB, magnitude, w.number(half)), w.number(shape.rest_bits));
  const ValueId rest =
      w.binary(TosaOp::SUB, magnitude, w.binary(TosaOp::MUL, whole, w.number(int64_t{1} << shape.rest_bits)));
  const ValueId index = call.rescale(w.binary(TosaOp::SUB, whole, w.number(kSteps)),
                                     {.multipliers = {{.multiplier = 1 << 30, .exponent = 8}}, .to = DType::kInt16});
  const ValueId entry = call.widened(w.looked_up(index, entries), 0);  // less 32768, which is the centre
  const ValueId distance = call.widened(w.looked_up(index, distances), 0);
  const ValueId above = w.binary(TosaOp::ADD, w.binary(TosaOp::MUL, entry, w.number(int64_t{1} << shape.rest_bits)),
                                 w.binary(TosaOp::MUL, rest, distance));
  // 0, or -1 below zero; the sum changes its sign there, and halves are rounded down.
  const ValueId below = w.binary(TosaOp::MAXIMUM, w.binary(TosaOp::MINIMUM, v, w.number(0)), w.number(-1));
  const ValueId sign = w.binary(TosaOp::ADD, w.binary(TosaOp::ADD, below, below), w.number(1));
  const ValueId total =
      w.binary(TosaOp::ADD, w.binary(TosaOp::ADD, w.binary(TosaOp::MUL, above, sign), below), w.number(shape.offset));
  return call.narrowed(w.shifted_right(total, w.number(shape.drop_bits)), DType::kInt16, 0);
}

Result<void> interpolated(Call& call, const Interpolation& shape) {
  CARINA_CHECKED(call.need(1));
  CARINA_CHECKED(call.need_quantized(call.in(0), kInt16));
  CARINA_CHECKED(call.need_quantized(call.result(), kInt16));
  if (Call::scale(call.result()) != 1.0F / 32768) return call.reject("the result's scale is not 1/32768");
  const auto scaling = input_scaling(Call::scale(call.in(0)), shape);
  if (!scaling) return call.reject("the input's scale is too large");
  return call.set(interpolated(call, call.value(0), *scaling, shape));
}

// 513 entries of a function over [low, high], as LiteRT makes them: each moved by half of the interpolation's error.
std::vector<int64_t> entries_of(double (*function)(double), double low, double high) {
  constexpr int kCount = 512;
  const double step = (high - low) / kCount;
  std::vector<int64_t> out;
  const auto stored = [](double value) { return static_cast<int64_t>(std::clamp(value, -32768.0, 32767.0)); };
  for (int i = 0; i < kCount; ++i) {
    const double at = function(low + i * step) * 32768.0, next = function(low + (i + 1) * step) * 32768.0;
    const double middle = std::round(function(low + i * step + step / 2) * 32768.0);
    const double error = std::round((next + std::round(at)) / 2) - middle;
    out.push_back(stored(std::round(at) - std::round(error / 2)));
  }
  out.push_back(stored(std::round(function(high) * 32768.0)));
  return out;
}

// 513 entries of a real function, from int16 to int16, as LiteRT makes them, in float.
std::vector<int64_t> entries_of(const Call& call, const std::function<float(float)>& function) {
  constexpr int kCount = 512;
  const float in = Call::scale(call.in(0)), result = Call::scale(call.result());
  const float low = in * -32768.0F, high = in * 32767.0F, step = (high - low) / kCount;
  const float inverse = 65536.0F / (result * 32767.0F - result * -32768.0F);
  const auto stored = [](float value) { return static_cast<int64_t>(std::clamp(value, -32768.0F, 32767.0F)); };
  std::vector<int64_t> out;
  for (int i = 0; i < kCount; ++i) {
    const float at = low + static_cast<float>(i) * step;
    const float next = function(low + static_cast<float>(i + 1) * step) * inverse;
    const float middle = std::round(function(at + step / 2) * inverse), here = std::round(function(at) * inverse);
    const float error = std::round((next + here) / 2) - middle;
    out.push_back(stored(here - std::round(error / 2)));
  }
  out.push_back(stored(std::round(function(high) * inverse)));
  return out;
}

}  // namespace

Result<void> function_16(Call& call, const std::function<float(float)>& function) {
  CARINA_CHECKED(call.need_quantized(call.in(0), kInt16));
  CARINA_CHECKED(call.need_quantized(call.result(), kInt16));
  const std::vector<int64_t> entries = entries_of(call, function);
  for (size_t i = 1; i < entries.size(); ++i) {
    if (std::abs(entries[i] - entries[i - 1]) > 32767)
      return call.reject("the function is too steep for a table with these scales");
  }
  return call.set(Writer(call, call.in(0).shape.rank()).looked_up(call.value(0), entries));
}

Result<void> logistic_16(Call& call) {
  return interpolated(call, kLogistic);
}

Result<void> hyperbolic_tangent_16(Call& call) {
  return interpolated(call, kTanh);
}

ValueId logistic_16(Call& call, ValueId input, int log2) {
  return interpolated(call, input, *input_scaling(std::ldexp(1.0F, log2), kLogistic), kLogistic);
}

ValueId hyperbolic_tangent_16(Call& call, ValueId input, int log2) {
  return interpolated(call, input, *input_scaling(std::ldexp(1.0F, log2), kTanh), kTanh);
}

Result<void> softmax_16(Call& call) {
  CARINA_CHECKED(call.need_quantized(call.in(0), kInt16));
  CARINA_CHECKED(call.need_quantized(call.result(), kInt16));
  const Shape shape = call.in(0).shape;
  const size_t axis = shape.rank() - 1;
  constexpr int64_t kMaxDepth = 32767;  // sums of 15 bits below 2^30
  if (shape[axis] > kMaxDepth) return call.reject("the axis is too long", "at most 32767 elements");
  const double factor = static_cast<double>(Call::scale(call.in(0)) * call.options().beta) / (10.0 / 65535.0);
  const Multiplier multiplier = multiplier_of(factor);
  if (!(factor > 0) || multiplier.exponent > 12) return call.reject("beta is not positive, or too large");
  const ValueId input = call.value(0);
  Writer w(call, shape.rank());
  const ValueId largest = call.out.reduce(TosaOp::REDUCE_MAX, input, axis);
  const ValueId difference = call.rescale(w.binary(TosaOp::SUB, call.widened(input, 0), call.widened(largest, 0)),
                                          {.multipliers = {multiplier}, .to = DType::kInt32});
  // Differences of 10 and more have the smallest exponential: the index saturates.
  const ValueId index = call.narrowed(w.binary(TosaOp::ADD, difference, w.number(32767)), DType::kInt16, 0);
  const double range = 65535.0;
  const double exp_scale = 10.0 / range, one_scale = 1.0 / range;
  const std::vector<int64_t> exp_entries = entries_of([](double x) { return std::exp(x); }, exp_scale * -65535, 0.0);
  const std::vector<int64_t> reciprocals = entries_of([](double x) { return 1.0 / (1.0 + x); }, 0.0, one_scale * 65535);
  const ValueId exponentials = call.widened(w.looked_up(index, exp_entries), 0);
  const ValueId sum = call.out.reduce(TosaOp::REDUCE_SUM, exponentials, axis);
  const ValueId zeros = call.out.unary(TosaOp::CLZ, sum);
  // The sum as a number in [1, 2) of 16 bits; its fraction is the table's index.
  const ValueId aligned = w.binary(TosaOp::LOGICAL_LEFT_SHIFT, sum, w.binary(TosaOp::SUB, zeros, w.number(1)));
  const ValueId fraction =
      w.binary(TosaOp::SUB, w.shifted_right(aligned, w.number(14)), w.number((1 << 15) + (1 << 16)));
  const ValueId reciprocal = call.widened(w.looked_up(call.narrowed(fraction, DType::kInt16, 0), reciprocals), 0);
  const ValueId scaled =
      w.shifted_right(w.binary(TosaOp::MUL, exponentials, reciprocal), w.binary(TosaOp::SUB, w.number(31), zeros));
  return call.set(call.narrowed(scaled, DType::kInt16, 0));
}

}  // namespace carina::tflite
