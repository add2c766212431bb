#include <array>
#include <bit>
#include <limits>
#include <optional>

#include "frontend/tflite/kernels/float_sum_internal.h"
#include "frontend/tflite/to_tosa/ops_internal.h"
#include "frontend/tflite/to_tosa/window_internal.h"

// AVERAGE_POOL_2D, MAX_POOL_2D, MEAN, SUM and ARG_MAX.
namespace carina::tflite {

namespace {

using ir::ValueId;

Result<void> check_pool(const Call& call) {
  CARINA_CHECKED(call.need(1));
  CARINA_CHECKED(call.need_quantized(call.in(0), kOf8Or16));
  CARINA_CHECKED(call.need_quantized(call.result(), kOf8Or16));
  if (call.in(0).shape.rank() != 4) return call.reject("the input's rank is not 4", {}, to_string(call.in(0).shape));
  if (call.in(0).dtype != call.result().dtype)
    return call.reject("input and result have different types", call.in(0).type_name, call.result().type_name);
  return {};
}

Result<void> pooled(Call& call, TosaOp op) {
  CARINA_CHECKED(check_pool(call));
  const Options& o = call.options();
  const Shape shape = call.in(0).shape;
  CARINA_TRY(const Coverage rows,
             coverage_of(call, o.padding, {.size = shape[1], .kernel = o.filter_h, .stride = o.stride_h}));
  CARINA_TRY(const Coverage columns,
             coverage_of(call, o.padding, {.size = shape[2], .kernel = o.filter_w, .stride = o.stride_w}));
  const ValueId input = used_part(call, call.value(0), rows, columns);
  const DType type = call.out.dtype(input);
  std::vector<ValueId> inputs{input};
  ir::Attributes attributes{{"kernel", std::vector<int64_t>{o.filter_h, o.filter_w}},
                            {"stride", std::vector<int64_t>{o.stride_h, o.stride_w}},
                            {"pad", std::vector<int64_t>{rows.before, rows.after, columns.before, columns.after}}};
  if (op == TosaOp::AVG_POOL2D) {
    // LiteRT rounds sums of the stored integers half away from zero. TOSA's reciprocal is a little too large, so its
    // rounding half up does the same for sums without zero point. uint8 sums are not negative: 128 less is the zero
    // point of the graph.
    const int64_t zero = call.in(0).dtype == DType::kUInt8 ? -128 : 0;
    inputs.push_back(call.out.integer(type, zero));
    inputs.push_back(call.out.integer(type, zero));
    attributes.set("acc_type", DType::kInt32);
  } else {
    attributes.set("nan_mode", ir::kNanPropagate);
  }
  const ValueId made = call.out.emit(
      op, std::move(inputs), std::move(attributes),
      {.dtype = type, .shape = Shape{shape[0], rows.results, columns.results, shape[3]}, .suffix = "pool"});
  CARINA_TRY(const ValueId result, call.activated(made));
  return call.set(result);
}

// The axes of a reduction, sorted, without negative numbers.
Result<std::vector<size_t>> axes_of(const Call& call, size_t operand, size_t rank) {
  CARINA_TRY(const std::vector<int64_t> axes, call.constant(operand, "the axis"));
  std::vector<bool> reduced(rank);
  for (int64_t axis : axes) {
    if (axis < 0) axis += static_cast<int64_t>(rank);
    if (axis < 0 || axis >= static_cast<int64_t>(rank)) return call.reject("an axis that the input does not have");
    reduced[static_cast<size_t>(axis)] = true;
  }
  std::vector<size_t> out;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (reduced[axis]) out.push_back(axis);
  }
  return out;
}

}  // namespace

Result<void> average_pool(Call& call) {
  return pooled(call, TosaOp::AVG_POOL2D);
}

Result<void> max_pool(Call& call) {
  return pooled(call, TosaOp::MAX_POOL2D);
}

// The sum of all elements less their zero points, times scale / count: the division by the count is part of the
// multiplier, cut off after its last bit.
Result<void> mean(Call& call) {
  CARINA_CHECKED(call.need(2));
  CARINA_CHECKED(call.need_quantized(call.in(0), kOf8Or16));
  CARINA_CHECKED(call.need_quantized(call.result(), kOf8Or16));
  if (call.in(0).dtype != call.result().dtype)
    return call.reject("input and result have different types", call.in(0).type_name, call.result().type_name);
  const Shape shape = call.in(0).shape;
  CARINA_TRY(const std::vector<size_t> axes, axes_of(call, 1, shape.rank()));
  int64_t count = 1;
  for (const size_t axis : axes) count *= shape[axis];
  // Sums of 9 or of 16 bits stay below 2^31.
  const int64_t max_count = call.in(0).dtype == DType::kInt16 ? 1 << 15 : 1 << 22;
  if (count < 1 || count > max_count) return call.reject("a mean over this many elements is not supported");
  Multiplier multiplier =
      multiplier_of(static_cast<double>(Call::scale(call.in(0))) / static_cast<double>(Call::scale(call.result())));
  if (multiplier.exponent > 12) return call.reject("the ratio of the scales is too large");
  const int shift = std::min({63 - std::countl_zero(static_cast<uint64_t>(count)), 32, 31 + multiplier.exponent});
  multiplier.multiplier = static_cast<int32_t>((int64_t{multiplier.multiplier} << shift) / count);
  multiplier.exponent -= shift;
  ValueId total = call.widened(call.value(0), Call::zero_point(call.in(0)));
  for (const size_t axis : axes) total = call.out.reduce(TosaOp::REDUCE_SUM, total, axis);
  const ValueId made = call.rescale(
      total,
      {.multipliers = {multiplier}, .output_zp = Call::zero_point(call.result()), .to = Call::type_of(call.result())});
  return call.set(made);
}

namespace {

// FloatSum with a RESCALE that rounds once.
struct RescaledSum {
  Multiplier multiplier = {};
  int64_t result_zero = 0;
  IntegerRange range = {};

  int64_t operator()(int64_t total) const {
    return std::clamp(scaled_once(static_cast<int32_t>(total), 0, multiplier) + result_zero, range.min, range.max);
  }
};

// The first total for which a function that never falls gives `result` or more; `totals.max + 1` if none does.
template <typename Function>
int64_t first_total(const Function& function, IntegerRange totals, int64_t result) {
  int64_t low = totals.min, high = totals.max + 1;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (function(middle) >= result)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// Whether both give the same results. They never fall, so they do if every result begins at the same total.
bool sums_alike(const FloatSum& a, const RescaledSum& b, IntegerRange totals) {
  for (int64_t result = a.range.min + 1; result <= a.range.max; ++result) {
    if (first_total(a, totals, result) != first_total(b, totals, result)) return false;
  }
  return true;
}

// A RESCALE with all results of the sum: the multiplier of the ratio of the scales, or one close to it.
std::optional<Multiplier> multiplier_of_sum(const FloatSum& sum, const RescaledSum& first, IntegerRange totals) {
  constexpr int32_t kFarthest = 16;
  for (int32_t distance = 0; distance <= kFarthest; ++distance) {
    for (const int32_t step : {distance, -distance}) {
      RescaledSum candidate = first;
      if (candidate.multiplier.multiplier > std::numeric_limits<int32_t>::max() - distance) continue;
      candidate.multiplier.multiplier += step;
      if (sums_alike(sum, candidate, totals)) return candidate.multiplier;
    }
  }
  return std::nullopt;
}

// A table that turns the RESCALE's results into the sum's. There is one if no two totals with one result differ, as
// with a ratio of the scales of 1 and more.
std::optional<std::array<int64_t, 256>> results_of(const FloatSum& sum, const RescaledSum& rescaled,
                                                   IntegerRange totals) {
  std::array<std::optional<int64_t>, 256> found{};
  for (int64_t total = totals.min; total <= totals.max; ++total) {
    std::optional<int64_t>& result = found[static_cast<size_t>(rescaled(total) + 128)];
    if (result.value_or(sum(total)) != sum(total)) return std::nullopt;
    result = sum(total);
  }
  std::array<int64_t, 256> out{};
  std::ranges::transform(found, out.begin(), [](const auto& result) { return result.value_or(0); });
  return out;
}

// For a ratio of the scales like 1/6, where many totals are exactly between two results and float rounds them either
// way: the RESCALE is of 2 * total + 1, so that all of these give the larger result. The correction by the RESCALE's
// result is -2 where LiteRT gives the smaller one, else 0. Nothing if that does not give all results.
//   Example: 9 / 6 = 1.5 becomes 19 / 12, which is 2. If LiteRT gives 1, the correction of 2 is -2: 17 / 12 is 1.
std::optional<std::array<int64_t, 256>> corrections_of(const FloatSum& sum, const RescaledSum& half,
                                                       IntegerRange totals) {
  std::array<int64_t, 256> out{};
  const auto larger = [&](int64_t total) { return half(2 * total + 1); };
  const auto at = [&](int64_t result) -> int64_t& { return out[static_cast<size_t>(result + 128)]; };
  for (int64_t result = sum.range.min + 1; result <= sum.range.max; ++result) {
    if (first_total(sum, totals, result) > first_total(larger, totals, result)) at(result) = -2;
  }
  for (int64_t total = totals.min; total <= totals.max; ++total) {
    if (half(2 * total + 1 + at(larger(total))) != sum(total)) return std::nullopt;
  }
  return out;
}

}  // namespace

Result<void> sum_of_axes(Call& call) {
  CARINA_CHECKED(call.need(2));
  CARINA_CHECKED(call.need_quantized(call.in(0), kOf8Or16));
  CARINA_CHECKED(call.need_quantized(call.result(), kOf8Or16));
  if (call.in(0).dtype != call.result().dtype)
    return call.reject("input and result have different types", call.in(0).type_name, call.result().type_name);
  CARINA_TRY(const std::vector<size_t> axes, axes_of(call, 1, call.in(0).shape.rank()));
  int64_t count = 1;
  for (const size_t axis : axes) count *= call.in(0).shape[axis];
  constexpr int64_t kMaxCount = 1 << 12;
  if (count < 1 || count > kMaxCount) return call.reject("a sum over this many elements is not supported");
  const DType type = Call::type_of(call.result());
  const IntegerRange range = range_of(type);
  const int64_t zero = Call::zero_point(call.in(0));
  const IntegerRange totals{.min = count * (range.min - zero), .max = count * (range.max - zero)};
  const int64_t declared_zero = call.in(0).quantization.zero_points.front();
  const float scale = Call::scale(call.in(0)) / Call::scale(call.result());
  const FloatSum sum = FloatSum::of(scale, declared_zero, count, Call::zero_point(call.result()), range);
  RescaledSum rescaled{.multiplier = multiplier_of(static_cast<double>(Call::scale(call.in(0))) /
                                                   static_cast<double>(Call::scale(call.result()))),
                       .result_zero = sum.result_zero,
                       .range = range};
  if (rescaled.multiplier.exponent > 12) return call.reject("the ratio of the scales is too large");
  ValueId total = call.widened(call.value(0), zero);
  for (const size_t axis : axes) total = call.out.reduce(TosaOp::REDUCE_SUM, total, axis);
  const auto scaled = [&](ValueId value, const Multiplier& multiplier) {
    return call.rescale(
        value, {.multipliers = {multiplier}, .output_zp = sum.result_zero, .to = type, .rounding = ir::kSingleRound});
  };
  if (const auto multiplier = multiplier_of_sum(sum, rescaled, totals)) return call.set(scaled(total, *multiplier));
  const auto results = type == DType::kInt8 ? results_of(sum, rescaled, totals) : std::nullopt;
  if (results)
    return call.set(call.looked_up(scaled(total, rescaled.multiplier),
                                   [&](int64_t result) { return (*results)[static_cast<size_t>(result + 128)]; }));
  --rescaled.multiplier.exponent;
  const auto corrections = type == DType::kInt8 ? corrections_of(sum, rescaled, totals) : std::nullopt;
  if (!corrections) return call.reject("no scaling in integers gives the results of LiteRT's sum in float");
  const ValueId one = call.out.splat(DType::kInt32, 1, call.out.shape(total).rank());
  const ValueId odd = call.out.binary(TosaOp::ADD, call.out.binary(TosaOp::ADD, total, total), one);
  const ValueId correction = call.looked_up(scaled(odd, rescaled.multiplier), [&](int64_t result) {
    return (*corrections)[static_cast<size_t>(result + 128)];
  });
  const ValueId corrected = call.out.binary(TosaOp::ADD, odd, call.widened(correction, 0));
  return call.set(scaled(corrected, rescaled.multiplier));
}

namespace {

constexpr std::array kReduced{DType::kInt8, DType::kUInt8, DType::kInt16, DType::kInt32, DType::kBool};

// The extreme of the stored integers along axes.
Result<void> extreme(Call& call, TosaOp op) {
  CARINA_CHECKED(call.need(2));
  CARINA_CHECKED(call.need_type(call.in(0), kReduced));
  const bool is_logic = op == TosaOp::REDUCE_ALL || op == TosaOp::REDUCE_ANY;
  if (call.in(0).dtype != call.result().dtype || (call.in(0).dtype == DType::kBool) != is_logic)
    return call.reject("the types do not fit", call.in(0).type_name, call.result().type_name);
  if (call.in(0).quantization.scales != call.result().quantization.scales ||
      call.in(0).quantization.zero_points != call.result().quantization.zero_points)
    return call.reject("input and result have different quantizations");
  CARINA_TRY(const std::vector<size_t> axes, axes_of(call, 1, call.in(0).shape.rank()));
  ValueId made = call.value(0);
  for (const size_t axis : axes) made = call.out.reduce(op, made, axis);
  return call.set(made);
}

}  // namespace

Result<void> reduce_max(Call& call) {
  return extreme(call, TosaOp::REDUCE_MAX);
}

Result<void> reduce_min(Call& call) {
  return extreme(call, TosaOp::REDUCE_MIN);
}

Result<void> reduce_all(Call& call) {
  return extreme(call, TosaOp::REDUCE_ALL);
}

Result<void> reduce_any(Call& call) {
  return extreme(call, TosaOp::REDUCE_ANY);
}

namespace {

// The first index of the largest element of `input`, which has operand 0's shape.
Result<void> arg_max_of(Call& call, ValueId input) {
  if (call.result().dtype != DType::kInt32 && call.result().dtype != DType::kInt64)
    return call.reject("the indices are neither int32 nor int64", {}, call.result().type_name);
  CARINA_TRY(const std::vector<size_t> axes, axes_of(call, 1, call.in(0).shape.rank()));
  if (axes.size() != 1) return call.reject("there is not one axis");
  const Shape shape = call.in(0).shape;
  std::vector<int64_t> dims;
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (i != axes.front()) dims.push_back(shape[i]);
  }
  const ValueId indices = call.out.emit(TosaOp::ARGMAX, {input},
                                        {{"axis", static_cast<int64_t>(axes.front())}, {"nan_mode", ir::kNanPropagate}},
                                        {.dtype = DType::kInt32, .shape = Shape(dims), .suffix = "arg_max"});
  if (call.result().dtype == DType::kInt32) return call.set(indices);
  // int64 indices: the high words are 0.
  dims.push_back(1);
  std::vector<int64_t> ones(dims.size(), 1);
  ones.back() = 2;
  const ValueId words = call.out.reshape(call.out.integers(DType::kInt32, std::array<int64_t, 2>{1, 0}), Shape(ones));
  return call.set(call.out.binary(TosaOp::MUL, call.out.reshape(indices, Shape(dims)), words));
}

}  // namespace

Result<void> arg_max(Call& call) {
  CARINA_CHECKED(call.need(2));
  CARINA_CHECKED(call.need_type(call.in(0), kOf8Or16));
  return arg_max_of(call, call.value(0));
}

// The smallest element is the largest of -1 - x, which is of 8 bits, too.
Result<void> arg_min(Call& call) {
  CARINA_CHECKED(call.need(2));
  CARINA_CHECKED(call.need_type(call.in(0), kOf8));
  return arg_max_of(call, call.looked_up(call.value(0), [](int64_t x) { return -1 - x; }));
}

}  // namespace carina::tflite
