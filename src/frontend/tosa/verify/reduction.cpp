#include <fmt/format.h>

#include <array>

#include "frontend/tosa/verify/rule.h"

namespace carina::tosa {

namespace {

// Rules of sections 2.3.1 and 2.9.
Problem axis_range(const RuleContext& at) {
  const int64_t axis = at.integer("axis");
  if (axis >= 0 && axis < static_cast<int64_t>(at.in_shape(0).rank())) return std::nullopt;
  return fmt::format("{} for {}", axis, carina::to_string(at.in_shape(0)));
}

Problem reduced_shape(const RuleContext& at) {
  Shape wanted = at.in_shape(0);
  wanted[static_cast<size_t>(at.integer("axis"))] = 1;
  if (wanted == at.out_shape(0)) return std::nullopt;
  return fmt::format("{}, must be {}", carina::to_string(at.out_shape(0)), carina::to_string(wanted));
}

Problem argmax_shape(const RuleContext& at) {
  std::vector<int64_t> wanted(at.in_shape(0).dims().begin(), at.in_shape(0).dims().end());
  wanted.erase(wanted.begin() + at.integer("axis"));
  if (Shape(wanted) == at.out_shape(0)) return std::nullopt;
  return fmt::format("{}, must be {}", carina::to_string(at.out_shape(0)), to_string(wanted));
}

constexpr auto kReduce = std::to_array<Rule>({
    {.id = "REDUCE.1", .must = "the axis must be one of the input's", .broken = axis_range},
    {.id = "REDUCE.2", .must = "the output must have the input's shape with 1 at the axis", .broken = reduced_shape},
});
constexpr auto kArgmax = std::to_array<Rule>({
    {.id = "ARGMAX.1", .must = "the axis must be one of the input's", .broken = axis_range},
    {.id = "ARGMAX.2", .must = "the output must have the input's shape without the axis", .broken = argmax_shape},
});

constexpr auto kReductionFamily = std::to_array<OpRules>({
    {.op = TosaOp::ARGMAX, .rules = kArgmax},
    {.op = TosaOp::REDUCE_ALL, .rules = kReduce},
    {.op = TosaOp::REDUCE_ANY, .rules = kReduce},
    {.op = TosaOp::REDUCE_MAX, .rules = kReduce},
    {.op = TosaOp::REDUCE_MIN, .rules = kReduce},
    {.op = TosaOp::REDUCE_PRODUCT, .rules = kReduce},
    {.op = TosaOp::REDUCE_SUM, .rules = kReduce},
});

}  // namespace

std::span<const OpRules> reduction_rules() {
  return kReductionFamily;
}

}  // namespace carina::tosa
