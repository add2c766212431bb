#include <fmt/format.h>

#include <array>
#include <cmath>

#include "frontend/tosa/verify/rule.h"

namespace carina::tosa {

namespace {

// Rules of sections 2.4.1 and 2.5 to 2.8.
Problem broadcasting(const RuleContext& at) {
  // MUL's shift does not take part in the broadcast. SELECT has three operands.
  const size_t operands = at.row.op == TosaOp::SELECT ? 3 : 2;
  Shape shape = at.in_shape(0);
  for (size_t i = 1; i < operands; ++i) {
    const auto both = broadcast(shape, at.in_shape(i));
    if (!both) return fmt::format("{} and {}", carina::to_string(shape), carina::to_string(at.in_shape(i)));
    shape = *both;
  }
  if (shape == at.out_shape(0)) return std::nullopt;
  return fmt::format("output {}, must be {}", carina::to_string(at.out_shape(0)), carina::to_string(shape));
}

Problem clamp_range(const RuleContext& at) {
  const double min = at.node.attributes.number("min_val");
  const double max = at.node.attributes.number("max_val");
  return max < min ? Problem(fmt::format("{} to {}", min, max)) : std::nullopt;
}

Problem clamp_nan(const RuleContext& at) {
  const double min = at.node.attributes.number("min_val");
  const double max = at.node.attributes.number("max_val");
  return std::isnan(min) || std::isnan(max) ? Problem(fmt::format("{} to {}", min, max)) : std::nullopt;
}

Problem shift_range(const RuleContext& at) {
  const auto shift = constant_ints(at.input(2));
  if (!shift || shift->empty()) return std::nullopt;
  const int64_t max = at.input(0).dtype == DType::kInt32 ? 63 : 0;
  return (*shift)[0] >= 0 && (*shift)[0] <= max ? std::nullopt
                                                : Problem(fmt::format("{}, must be 0 to {}", (*shift)[0], max));
}

Problem table_size(const RuleContext& at) {
  return differs("the table's length", at.in_shape(1)[0], at.input(0).dtype == DType::kInt8 ? 256 : 513);
}

Problem negate_zero_point(const RuleContext& at) {
  if (at.input(0).dtype == DType::kInt8) return std::nullopt;
  for (const size_t operand : {size_t{1}, size_t{2}}) {
    if (is_nonzero_constant(at.input(operand)))
      return fmt::format("{} is not zero for {}", at.row.inputs[operand].name, name_of(at.input(0).dtype));
  }
  return std::nullopt;
}

constexpr Rule kBroadcast{
    .id = "BROADCAST.1", .must = "the output's shape must be that of the broadcast operands", .broken = broadcasting};
constexpr auto kBinary = std::to_array<Rule>({kBroadcast});
constexpr auto kMul = std::to_array<Rule>({
    {.id = "MUL.1", .must = "the shift must be in its range, and 0 for other types than int32", .broken = shift_range},
    kBroadcast,
});
constexpr auto kClamp = std::to_array<Rule>({
    {.id = "CLAMP.1", .must = "max_val must not be below min_val", .broken = clamp_range},
    {.id = "CLAMP.2", .must = "min_val and max_val must not be NaN", .broken = clamp_nan},
});
constexpr auto kTable = std::to_array<Rule>(
    {{.id = "TABLE.1", .must = "the table must have 256 entries for int8, 513 for int16", .broken = table_size}});
constexpr auto kNegate = std::to_array<Rule>(
    {{.id = "NEGATE.1", .must = "only int8 tensors may have a zero point", .broken = negate_zero_point}});

constexpr auto kElementwiseFamily = std::to_array<OpRules>({
    {.op = TosaOp::CLAMP, .rules = kClamp},
    {.op = TosaOp::ADD, .rules = kBinary},
    {.op = TosaOp::ARITHMETIC_RIGHT_SHIFT, .rules = kBinary},
    {.op = TosaOp::BITWISE_AND, .rules = kBinary},
    {.op = TosaOp::BITWISE_OR, .rules = kBinary},
    {.op = TosaOp::BITWISE_XOR, .rules = kBinary},
    {.op = TosaOp::INTDIV, .rules = kBinary},
    {.op = TosaOp::LOGICAL_AND, .rules = kBinary},
    {.op = TosaOp::LOGICAL_LEFT_SHIFT, .rules = kBinary},
    {.op = TosaOp::LOGICAL_RIGHT_SHIFT, .rules = kBinary},
    {.op = TosaOp::LOGICAL_OR, .rules = kBinary},
    {.op = TosaOp::LOGICAL_XOR, .rules = kBinary},
    {.op = TosaOp::MAXIMUM, .rules = kBinary},
    {.op = TosaOp::MINIMUM, .rules = kBinary},
    {.op = TosaOp::MUL, .rules = kMul},
    {.op = TosaOp::POW, .rules = kBinary},
    {.op = TosaOp::SUB, .rules = kBinary},
    {.op = TosaOp::TABLE, .rules = kTable},
    {.op = TosaOp::NEGATE, .rules = kNegate},
    {.op = TosaOp::SELECT, .rules = kBinary},
    {.op = TosaOp::EQUAL, .rules = kBinary},
    {.op = TosaOp::GREATER, .rules = kBinary},
    {.op = TosaOp::GREATER_EQUAL, .rules = kBinary},
});

}  // namespace

std::span<const OpRules> elementwise_rules() {
  return kElementwiseFamily;
}

}  // namespace carina::tosa
