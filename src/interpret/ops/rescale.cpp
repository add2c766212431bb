// RESCALE: converts integers to another scale.

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "interpret/checks_internal.h"
#include "interpret/elements_internal.h"
#include "interpret/ops/integer_epilogue_internal.h"
#include "interpret/ops/rescale_internal.h"
#include "kernels/micro/within.h"
#include "tensor/fixed_point.h"

namespace carina::interpret {

namespace {

using enum DType;

// Returns a zero point. It is stored with the signed type, but may be unsigned.
int64_t zero_point_at(const std::byte* data, DType dtype, bool is_unsigned) {
  const int64_t value = scalar_at(data, dtype);
  return is_unsigned ? value & ((int64_t{1} << row_of(dtype).bits) - 1) : value;
}

struct Limits {
  int64_t low;
  int64_t high;
};
Limits limits_of(DType dtype, bool is_unsigned) {
  const IntegerRange range = range_of(dtype);
  if (is_unsigned) return {.low = 0, .high = 2 * range.max + 1};
  return {.low = range.min, .high = range.max};
}

struct Plan {
  int64_t channels;  // 1: one factor for all channels
  int64_t rows;
  bool per_channel;
  bool scale32;
  Rounding rounding;
  bool input_unsigned;
  bool output_unsigned;
  DType in;
  DType out;
  Shape shape;
};

template <typename S>
int64_t load(S value, bool is_unsigned) {
  if constexpr (sizeof(S) <= 2) {
    if (is_unsigned) return static_cast<std::make_unsigned_t<S>>(value);
  }
  return value;
}

// Scales one element. Returns false if a REQUIRE of apply_scale_32 or apply_scale_16 is violated.
bool scale(const Plan& plan, int64_t value, int64_t multiplier, int shift, int64_t& result) {
  if (multiplier < 0 || shift < 2 || shift > 62) return false;
  if (plan.scale32) {
    const int64_t bound = int64_t{1} << (shift - 1);
    if (value < -bound || value >= bound || value != static_cast<int32_t>(value)) return false;
    result = apply_scale_32(value, static_cast<int32_t>(multiplier), shift, plan.rounding);
    return true;
  }
  result = apply_scale_16(value, static_cast<int16_t>(multiplier), shift);
  return result == static_cast<int32_t>(result);
}

template <typename In, typename Out>
Result<void> run_rescale(const Plan& plan, const Call& call) {
  FirstBad first_bad;
  const In* in = call.input<In>(0);
  Out* out = call.output<Out>(0);
  const int64_t input_zp = zero_point_at(call.in[3], plan.in, plan.input_unsigned);
  const int64_t output_zp = zero_point_at(call.in[4], plan.out, plan.output_unsigned);
  const Limits limits = limits_of(plan.out, plan.output_unsigned);
  const auto* shifts = call.input<int8_t>(2);
  split(call.runtime.workers, plan.rows, 1 + 8192 / (plan.channels + 1), [&](int64_t begin, int64_t end) {
    for (int64_t at = begin * plan.channels; at < end * plan.channels; ++at) {
      const int64_t c = plan.per_channel ? at % plan.channels : 0;
      const int64_t multiplier = plan.scale32 ? call.input<int32_t>(1)[c] : call.input<int16_t>(1)[c];
      int64_t result = 0;
      if (!scale(plan, load(in[at], plan.input_unsigned) - input_zp, multiplier, shifts[c], result))
        first_bad.report(at);
      out[at] = static_cast<Out>(std::clamp(result + output_zp, limits.low, limits.high));
    }
  });
  if (first_bad.any())
    return fail_at(call, plan.shape, first_bad.element(),
                   "the value, multiplier or shift is outside of what RESCALE allows");
  return {};
}

template <typename In, typename Out>
Kernel rescale(const NodePlan& node) {
  const ir::Attributes& attributes = node.node.attributes;
  const Shape& shape = *node.in[0].shape;
  const bool per_channel = attributes.get<bool>("per_channel");
  const int64_t channels = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  constexpr int64_t kDoubleRound = 3;
  const bool doubled = attributes.integer("rounding_mode") == kDoubleRound;
  const Plan plan{.channels = channels,
                  .rows = channels == 0 ? 0 : shape.elements() / channels,
                  .per_channel = per_channel,
                  .scale32 = attributes.get<bool>("scale32"),
                  .rounding = doubled ? Rounding::kDouble : Rounding::kSingle,
                  .input_unsigned = attributes.get<bool>("input_unsigned"),
                  .output_unsigned = attributes.get<bool>("output_unsigned"),
                  .in = node.in[0].dtype,
                  .out = node.out[0].dtype,
                  .shape = shape};
  return {.run = [plan](const Call& call) { return run_rescale<In, Out>(plan, call); }};
}

}  // namespace

Result<void> check_rescale(const NodePlan& plan) {
  Checks checks(plan);
  checks.operands(5, 1);
  if (!checks.good()) return checks.done();
  const ir::Attributes& attributes = plan.node.attributes;
  const Shape& shape = *plan.in[0].shape;
  const bool per_channel = attributes.get<bool>("per_channel");
  checks.require(!per_channel || shape.rank() > 0, "per_channel needs a channel axis");
  const Shape factors{per_channel && shape.rank() > 0 ? shape[shape.rank() - 1] : 1};
  checks.shape(plan.out[0], shape)
      .same_type(plan.in[1], attributes.get<bool>("scale32") ? kInt32 : kInt16)
      .same_type(plan.in[2], kInt8)
      .shape(plan.in[1], factors)
      .shape(plan.in[2], factors)
      .same_type(plan.in[3], plan.in[0].dtype)
      .same_type(plan.in[4], plan.out[0].dtype)
      .scalar(plan.in[3])
      .scalar(plan.in[4])
      .require(!(attributes.get<bool>("scale32") && plan.in[0].dtype == kInt48), "scale32 is not for i48")
      .require(attributes.get<bool>("scale32") || attributes.integer("rounding_mode") != 3,
               "DOUBLE_ROUND is for scale32");
  return checks.done();
}

namespace {

std::optional<Kernel> plain_rescale(const NodePlan& plan);

// What apply_scale_32 allows of inputs minus zero point, by the smallest shift: [-bound - 1, bound].
int64_t allowed_bound(const NodePlan& plan) {
  if (plan.in[2].constant == nullptr || plan.in[2].shape->elements() == 0) return -1;
  const int shift = std::ranges::min(plan.in[2].constant->values<int8_t>());
  return shift < 2 ? -1 : (int64_t{1} << std::min(shift - 1, 31)) - 1;
}

bool all_within(const Call& call, int64_t count, int64_t bound) {
  std::atomic<bool> within = true;
  split(call.runtime.workers, count, 16'384, [&](int64_t begin, int64_t end) {
    const auto low = static_cast<int32_t>(-bound - 1), high = static_cast<int32_t>(bound);
    if (!kernels::are_within(call.input<int32_t>(0) + begin, end - begin, low, high)) within = false;
  });
  return within;
}

// The vector kernel of 48-bit inputs with constant factors. If a scaled value does not fit 32 bits, the plain kernel
// runs and reports it.
struct WideRescale {
  std::vector<int64_t> multiplier, shift;
  bool per_channel;
  int64_t rows, channels;
  DType out_type;
  int64_t zero_point;
  Kernel for_others;

  Result<void> run(const Call& call) const {
    std::atomic<bool> fit = true;
    const IntegerRange range = range_of(out_type);
    const auto chunk = [&](int64_t at, int64_t count, int64_t length) {
      if (!kernels::rescale_i48({.in = call.input<int64_t>(0) + at,
                                 .out = call.out[0] + static_cast<size_t>(at) * element_bytes(out_type),
                                 .out_type = out_type,
                                 .rows = count,
                                 .channels = length,
                                 .per_channel = per_channel,
                                 .multiplier = multiplier.data(),
                                 .shift = shift.data(),
                                 .zero_point = zero_point,
                                 .low = range.min,
                                 .high = range.max}))
        fit = false;
    };
    if (per_channel) {
      split(call.runtime.workers, rows, 1 + 4096 / (channels + 1),
            [&](int64_t begin, int64_t end) { chunk(begin * channels, end - begin, channels); });
    } else {
      split(call.runtime.workers, rows * channels, 4096,
            [&](int64_t begin, int64_t end) { chunk(begin, 1, end - begin); });
    }
    return fit ? Result<void>() : for_others.run(call);
  }
};

std::optional<Kernel> wide_rescale(const NodePlan& plan) {
  const ir::Attributes& attributes = plan.node.attributes;
  const bool constants =
      std::ranges::all_of(std::span(plan.in).subspan(1), [](const Operand& o) { return o.constant != nullptr; });
  const bool is_unsigned = attributes.get<bool>("input_unsigned") || attributes.get<bool>("output_unsigned");
  auto for_others = plain_rescale(plan);
  if (!constants || is_unsigned || !for_others || scalar_at(plan.in[3].constant->data.data(), kInt48) != 0)
    return std::nullopt;
  const auto multipliers = plan.in[1].constant->values<int16_t>();
  const auto shifts = plan.in[2].constant->values<int8_t>();
  const bool are_valid = std::ranges::all_of(multipliers, [](int16_t m) { return m >= 0; }) &&
                         std::ranges::all_of(shifts, [](int8_t shift) { return shift >= 2 && shift <= 62; });
  const Shape& shape = *plan.in[0].shape;
  const int64_t channels = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  if (!are_valid || channels == 0) return std::nullopt;
  WideRescale rescale{.multiplier = {multipliers.begin(), multipliers.end()},
                      .shift = {shifts.begin(), shifts.end()},
                      .per_channel = attributes.get<bool>("per_channel"),
                      .rows = shape.elements() / channels,
                      .channels = channels,
                      .out_type = plan.out[0].dtype,
                      .zero_point = scalar_at(plan.in[4].constant->data.data(), plan.out[0].dtype),
                      .for_others = *std::move(for_others)};
  return Kernel{.run = [rescale = std::move(rescale)](const Call& call) { return rescale.run(call); }};
}

// Returns the vector kernel if the factors are constants that are valid for every input of the type. If they are valid
// for small inputs of 32 bits only, the inputs are looked at first, and the plain kernel handles the others.
std::optional<Kernel> vector_rescale(const NodePlan& plan) {
  const auto zero_point =
      plan.in[3].constant == nullptr ? 0 : scalar_at(plan.in[3].constant->data.data(), plan.in[0].dtype);
  if (plan.in[0].dtype == kInt48) return wide_rescale(plan);
  const IntegerRange range = range_of(plan.in[0].dtype);
  int64_t bound = std::max(range.max - zero_point, zero_point - range.min - 1);
  std::optional<Kernel> for_others;
  auto scales = constant_scales(plan, bound);
  if (!scales && plan.in[0].dtype == kInt32) {
    bound = allowed_bound(plan);
    if (bound >= 0) scales = constant_scales(plan, bound);
    if (scales) for_others = plain_rescale(plan);
  }
  if (!scales) return std::nullopt;
  const Shape& shape = *plan.in[0].shape;
  const int64_t channels = !scales->per_channel ? shape.elements() : shape[shape.rank() - 1];
  const int64_t rows = channels == 0 ? 0 : shape.elements() / channels;
  auto run = [scales = *scales, channels, rows, bound, for_others, in_type = plan.in[0].dtype,
              out_type = plan.out[0].dtype](const Call& call) -> Result<void> {
    if (for_others && !all_within(call, rows * channels, bound)) return for_others->run(call);
    const auto chunk = [&](int64_t at, int64_t row_count, int64_t length) {
      kernels::scale_rows({.scales = scales,
                           .in_type = in_type,
                           .out_type = out_type,
                           .in = call.in[0] + static_cast<size_t>(at) * element_bytes(in_type),
                           .out = call.out[0] + static_cast<size_t>(at) * element_bytes(out_type),
                           .in_stride = channels,
                           .out_stride = channels,
                           .rows = row_count,
                           .first = 0,
                           .channels = length});
    };
    if (rows == 1 && !scales.per_channel) {
      split(call.runtime.workers, channels, 4096, [&](int64_t begin, int64_t end) { chunk(begin, 1, end - begin); });
    } else {
      split(call.runtime.workers, rows, 1 + 4096 / (channels + 1),
            [&](int64_t begin, int64_t end) { chunk(begin * channels, end - begin, channels); });
    }
    return {};
  };
  return Kernel{.run = std::move(run)};
}

constexpr struct {
  DType in;
  DType out;
  Kernel (*make)(const NodePlan&);
} kRescaleRows[] = {
    {kInt8, kInt8, &rescale<int8_t, int8_t>},     {kInt8, kInt16, &rescale<int8_t, int16_t>},
    {kInt8, kInt32, &rescale<int8_t, int32_t>},   {kInt16, kInt8, &rescale<int16_t, int8_t>},
    {kInt16, kInt16, &rescale<int16_t, int16_t>}, {kInt16, kInt32, &rescale<int16_t, int32_t>},
    {kInt32, kInt8, &rescale<int32_t, int8_t>},   {kInt32, kInt16, &rescale<int32_t, int16_t>},
    {kInt32, kInt32, &rescale<int32_t, int32_t>}, {kInt48, kInt8, &rescale<int64_t, int8_t>},
    {kInt48, kInt16, &rescale<int64_t, int16_t>}, {kInt48, kInt32, &rescale<int64_t, int32_t>},
};

std::optional<Kernel> plain_rescale(const NodePlan& plan) {
  for (const auto& row : kRescaleRows) {
    if (row.in == plan.in[0].dtype && row.out == plan.out[0].dtype) return row.make(plan);
  }
  return std::nullopt;
}

}  // namespace

Result<Kernel> prepare_RESCALE(const NodePlan& plan) {
  CARINA_CHECKED(check_rescale(plan));
  if (plan.kernels == Kernels::kFast) {
    if (auto kernel = vector_rescale(plan)) return *std::move(kernel);
  }
  if (auto kernel = plain_rescale(plan)) return *std::move(kernel);
  return fail(
      plan.diagnostic("RESCALE does not have these types", "i8, i16, i32 or i48 to i8, i16 or i32",
                      std::string(name_of(plan.in[0].dtype)) + " -> " + std::string(name_of(plan.out[0].dtype))));
}

}  // namespace carina::interpret
