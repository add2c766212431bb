#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/tosa/verify/rule.h"

namespace carina::tosa {

namespace {

// Section 2.13.2. Operands: input, multiplier, shift, input_zp, output_zp.
constexpr int64_t kMiddleOfUint16 = 32768;
constexpr int64_t kDoubleRound = 3;
constexpr int64_t kInexactRound = 2;

DType in_type(const RuleContext& at) {
  return at.input(0).dtype;
}
DType out_type(const RuleContext& at) {
  return at.output(0).dtype;
}
bool in_unsigned(const RuleContext& at) {
  return at.flag("input_unsigned");
}
bool out_unsigned(const RuleContext& at) {
  return at.flag("output_unsigned");
}

Problem zero_point(DType dtype, bool is_unsigned, const ir::Value& value) {
  const auto zero_point = constant_ints(value);
  if (!zero_point || zero_point->empty() || (*zero_point)[0] == 0 || dtype == DType::kInt8) return std::nullopt;
  // The file stores an unsigned 16-bit zero point of 32768 as int16 -32768.
  const bool middle = (*zero_point)[0] == kMiddleOfUint16 || (*zero_point)[0] == -kMiddleOfUint16;
  if (dtype == DType::kInt16 && is_unsigned && middle) return std::nullopt;
  return fmt::format("{} for {}{}", (*zero_point)[0], is_unsigned ? "unsigned " : "", name_of(dtype));
}
Problem input_zp(const RuleContext& at) {
  return zero_point(in_type(at), in_unsigned(at), at.input(3));
}
Problem output_zp(const RuleContext& at) {
  return zero_point(out_type(at), out_unsigned(at), at.input(4));
}

Problem scale32(const RuleContext& at) {
  return at.flag("scale32") && in_type(at) == DType::kInt48 ? Problem("scale32 for i48") : std::nullopt;
}
Problem double_round(const RuleContext& at) {
  return !at.flag("scale32") && at.integer("rounding_mode") == kDoubleRound ? Problem("DOUBLE_ROUND without scale32")
                                                                            : std::nullopt;
}
Problem both_unsigned(const RuleContext& at) {
  return in_unsigned(at) && out_unsigned(at) ? Problem("both") : std::nullopt;
}
Problem wide_unsigned(const RuleContext& at) {
  const auto wide = [](DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt48; };
  if (!wide(in_type(at)) && !wide(out_type(at))) return std::nullopt;
  if (!in_unsigned(at) && !out_unsigned(at)) return std::nullopt;
  return fmt::format("{} to {}", name_of(in_type(at)), name_of(out_type(at)));
}

Problem channels(const RuleContext& at) {
  if (!at.flag("per_channel")) return std::nullopt;
  return at.in_shape(0).rank() == 0 ? Problem("a scalar") : std::nullopt;
}
Problem scale_count(const RuleContext& at) {
  const Shape& shape = at.in_shape(0);
  const int64_t wanted = at.flag("per_channel") ? shape[shape.rank() - 1] : 1;
  return differs("the number of multipliers", at.in_shape(1)[0], wanted);
}

Problem multiplier(const RuleContext& at) {
  const auto range = range_of_constant(at, at.input(1));
  return !range || range->min >= 0 ? std::nullopt : Problem(std::to_string(range->min));
}
Problem shift(const RuleContext& at) {
  const auto range = range_of_constant(at, at.input(2));
  if (!range || (range->min >= 2 && range->max <= 62)) return std::nullopt;
  return std::to_string(range->min < 2 ? range->min : range->max);
}

Problem rounding_extension(const RuleContext& at) {
  const int64_t mode = at.integer("rounding_mode");
  if (mode == kDoubleRound && !at.options.features.has(TosaFeature::kExtDoubleRound))
    return "DOUBLE_ROUND needs EXT-DOUBLEROUND";
  if (mode == kInexactRound && !at.options.features.has(TosaFeature::kExtInexactRound))
    return "INEXACT_ROUND needs EXT-INEXACTROUND";
  return std::nullopt;
}

constexpr auto kRescale = std::to_array<Rule>({
    {.id = "RESCALE.1", .must = "input_zp must be 0 (any for int8; 0 or 32768 for uint16)", .broken = input_zp},
    {.id = "RESCALE.2", .must = "output_zp must be 0 (any for int8; 0 or 32768 for uint16)", .broken = output_zp},
    {.id = "RESCALE.3", .must = "scale32 must be false for int48", .broken = scale32},
    {.id = "RESCALE.4", .must = "DOUBLE_ROUND needs scale32", .broken = double_round},
    {.id = "RESCALE.5", .must = "input and output must not both be unsigned", .broken = both_unsigned},
    {.id = "RESCALE.6",
     .must = "int32 and int48 have no unsigned form, nor may they meet one",
     .broken = wide_unsigned},
    {.id = "RESCALE.7", .must = "scaling by channel needs an axis", .broken = channels},
    {.id = "RESCALE.8", .must = "there must be one multiplier, or one for each channel", .broken = scale_count},
    {.id = "RESCALE.9", .must = "multipliers must not be negative", .broken = multiplier},
    {.id = "RESCALE.10", .must = "shifts must be 2 to 62", .broken = shift},
    {.id = "RESCALE.11",
     .must = "the rounding mode must be of an extension that is enabled",
     .broken = rounding_extension},
});
constexpr auto kRescaleFamily = std::to_array<OpRules>({{.op = TosaOp::RESCALE, .rules = kRescale}});

}  // namespace

std::span<const OpRules> rescale_rules() {
  return kRescaleFamily;
}

}  // namespace carina::tosa
