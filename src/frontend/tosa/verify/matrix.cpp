#include <fmt/format.h>

#include <array>
#include <bit>

#include "frontend/tosa/verify/rule.h"

namespace carina::tosa {

namespace {

// Rules of sections 2.3.6, 2.3.7 and 2.3.9.
Problem zero_point(const RuleContext& at) {
  if (at.input(0).dtype == DType::kInt8) return std::nullopt;
  for (const size_t operand : {size_t{2}, size_t{3}}) {
    if (is_nonzero_constant(at.input(operand)))
      return fmt::format("{} is not zero for {}", at.row.inputs[operand].name, name_of(at.input(0).dtype));
  }
  return std::nullopt;
}

Problem power_of_two(const RuleContext& at) {
  for (const size_t axis : {size_t{1}, size_t{2}}) {
    if (!std::has_single_bit(static_cast<uint64_t>(at.in_shape(0)[axis]))) return carina::to_string(at.in_shape(0));
  }
  return std::nullopt;
}

Problem level_kernel(const RuleContext& at) {
  const Shape& shape = at.in_shape(0);
  const int64_t limit = at.options.level.max_kernel;
  if (shape[1] <= limit && shape[2] <= limit) return std::nullopt;
  return fmt::format("{}, level {} allows {}", carina::to_string(shape), at.options.level.name, limit);
}

constexpr auto kMatmul =
    std::to_array<Rule>({{.id = "MATMUL.1", .must = "only int8 tensors may have a zero point", .broken = zero_point}});
constexpr auto kFourier = std::to_array<Rule>({
    {.id = "FFT.1", .must = "height and width must be powers of two", .broken = power_of_two},
    {.id = "FFT.2", .must = "height and width must keep to the level's MAX_KERNEL", .broken = level_kernel},
});

constexpr auto kMatrixFamily = std::to_array<OpRules>({
    {.op = TosaOp::MATMUL, .rules = kMatmul},
    {.op = TosaOp::FFT2D, .rules = kFourier},
    {.op = TosaOp::RFFT2D, .rules = kFourier},
});

}  // namespace

std::span<const OpRules> matrix_rules() {
  return kMatrixFamily;
}

}  // namespace carina::tosa
