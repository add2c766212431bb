#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/tosa/verify/rule.h"

namespace carina::tosa {

namespace {

// Rules of sections 2.3.2 and 2.3.8.
Problem zero_point(const RuleContext& at) {
  if (at.input(0).dtype == DType::kInt8) return std::nullopt;
  for (const size_t operand : {size_t{1}, size_t{2}}) {
    if (is_nonzero_constant(at.input(operand)))
      return fmt::format("{} is not zero for {}", at.row.inputs[operand].name, name_of(at.input(0).dtype));
  }
  return std::nullopt;
}

Problem below(const RuleContext& at, std::string_view name, int64_t min) {
  const auto& list = at.ints(name);
  if (std::ranges::all_of(list, [&](int64_t value) { return value >= min; })) return std::nullopt;
  return to_string(list);
}
Problem kernel(const RuleContext& at) {
  return below(at, "kernel", 1);
}
Problem stride(const RuleContext& at) {
  return below(at, "stride", 1);
}
Problem negative_pad(const RuleContext& at) {
  return below(at, "pad", 0);
}

Problem wide_pad(const RuleContext& at) {
  for (size_t i = 0; i < 4; ++i) {
    if (at.ints("pad")[i] >= at.ints("kernel")[i / 2])
      return fmt::format("{} for kernel {}", to_string(at.ints("pad")), to_string(at.ints("kernel")));
  }
  return std::nullopt;
}

Problem output_size(const RuleContext& at) {
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t extent =
        at.in_shape(0)[1 + axis] + at.ints("pad")[2 * axis] + at.ints("pad")[2 * axis + 1] - at.ints("kernel")[axis];
    const auto steps = exact_quotient(extent, at.ints("stride")[axis]);
    if (Problem found = differs(fmt::format("output axis {}", 1 + axis), at.out_shape(0)[1 + axis],
                                steps ? std::optional(*steps + 1) : std::nullopt))
      return found;
  }
  return std::nullopt;
}

Problem over_level(const RuleContext& at, std::string_view name, int64_t limit) {
  const auto& list = at.ints(name);
  if (std::ranges::all_of(list, [&](int64_t value) { return value <= limit; })) return std::nullopt;
  return fmt::format("{}, level {} allows {}", to_string(list), at.options.level.name, limit);
}
Problem level_kernel(const RuleContext& at) {
  return over_level(at, "kernel", at.options.level.max_kernel);
}
Problem level_stride(const RuleContext& at) {
  return over_level(at, "stride", at.options.level.max_stride);
}
Problem level_pad(const RuleContext& at) {
  return over_level(at, "pad", at.options.level.max_kernel);
}

constexpr auto kShared = std::to_array<Rule>({
    {.id = "POOL.1", .must = "the kernel must be at least 1", .broken = kernel},
    {.id = "POOL.2", .must = "strides must be at least 1", .broken = stride},
    {.id = "POOL.3", .must = "padding must not be negative", .broken = negative_pad},
    {.id = "POOL.4", .must = "padding must be smaller than the kernel", .broken = wide_pad},
    {.id = "POOL.5",
     .must = "the output's size must be (in + padding - kernel) / stride + 1 without rest",
     .broken = output_size},
    {.id = "POOL.6", .must = "the kernel must keep to the level's MAX_KERNEL", .broken = level_kernel},
    {.id = "POOL.7", .must = "strides must keep to the level's MAX_STRIDE", .broken = level_stride},
    {.id = "POOL.8", .must = "padding must keep to the level's MAX_KERNEL", .broken = level_pad},
    {.id = "POOL.9", .must = "only int8 tensors may have a zero point", .broken = zero_point},
});

constexpr auto kPoolingFamily = std::to_array<OpRules>({
    {.op = TosaOp::AVG_POOL2D, .rules = kShared},
    {.op = TosaOp::MAX_POOL2D, .rules = std::span(kShared).first(kShared.size() - 1)},  // has no zero points
});

}  // namespace

std::span<const OpRules> pooling_rules() {
  return kPoolingFamily;
}

}  // namespace carina::tosa
