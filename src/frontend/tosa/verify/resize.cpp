#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/tosa/verify/rule.h"

namespace carina::tosa {

namespace {

// Rules of section 2.12.1. Operands: input, scale [y_n, y_d, x_n, x_d], offset [y, x], border [y, x].
constexpr int64_t kMaxSize = 16384;
constexpr int64_t kMaxNumerator = 1 << 11;
constexpr int64_t kMaxDownscale = 16;

Problem too_large(const RuleContext& at) {
  for (const Shape& shape : {at.in_shape(0), at.out_shape(0)}) {
    if (shape[1] >= kMaxSize || shape[2] >= kMaxSize) return carina::to_string(shape);
  }
  return std::nullopt;
}

// The scale, offset and border of one axis (0: y, 1: x), if they are constants.
struct Axis {
  int64_t numerator;
  int64_t denominator;
  int64_t offset;
  int64_t border;
};
std::optional<Axis> axis_of(const RuleContext& at, size_t axis) {
  const auto scale = constant_ints(at.input(1));
  const auto offset = constant_ints(at.input(2));
  const auto border = constant_ints(at.input(3));
  if (!scale || !offset || !border) return std::nullopt;
  return Axis{.numerator = (*scale)[2 * axis],
              .denominator = (*scale)[2 * axis + 1],
              .offset = (*offset)[axis],
              .border = (*border)[axis]};
}

template <typename Broken>
Problem either(const RuleContext& at, const Broken& broken) {
  for (const size_t axis : {size_t{0}, size_t{1}}) {
    const auto a = axis_of(at, axis);
    if (a && broken(*a))
      return fmt::format("{}: scale {}/{}, offset {}, border {}", axis == 0 ? "y" : "x", a->numerator, a->denominator,
                         a->offset, a->border);
  }
  return std::nullopt;
}

Problem positive_scale(const RuleContext& at) {
  return either(at, [](const Axis& a) { return a.numerator <= 0 || a.denominator <= 0; });
}
Problem numerator(const RuleContext& at) {
  return either(at, [](const Axis& a) { return a.numerator > kMaxNumerator; });
}
// The comparison divides, because the product could overflow.
Problem downscale(const RuleContext& at) {
  return either(at, [](const Axis& a) { return a.denominator >= kMaxDownscale * a.numerator; });
}
Problem offset(const RuleContext& at) {
  return either(at, [](const Axis& a) { return a.offset < -a.numerator || a.offset >= kMaxDownscale * a.numerator; });
}
Problem border(const RuleContext& at) {
  return either(at, [](const Axis& a) { return a.border < -kMaxDownscale * a.numerator || a.border >= a.numerator; });
}

Problem output_size(const RuleContext& at) {
  for (const size_t axis : {size_t{0}, size_t{1}}) {
    const auto a = axis_of(at, axis);
    if (!a) return std::nullopt;
    const auto steps =
        exact_quotient((at.in_shape(0)[1 + axis] - 1) * a->numerator - a->offset + a->border, a->denominator);
    if (Problem found = differs(fmt::format("output axis {}", 1 + axis), at.out_shape(0)[1 + axis],
                                steps ? std::optional(*steps + 1) : std::nullopt))
      return found;
  }
  return std::nullopt;
}

// The table of types says which rows are legal for which mode. Both modes have the float rows.
Problem mode_type(const RuleContext& at) {
  if (is_float(at.input(0).dtype)) return std::nullopt;
  const bool nearest = at.integer("mode") == 1;
  const bool same = at.input(0).dtype == at.output(0).dtype;
  if (nearest == same) return std::nullopt;
  return fmt::format("{} to {}", name_of(at.input(0).dtype), name_of(at.output(0).dtype));
}

Problem level_scale(const RuleContext& at) {
  return either(at, [&](const Axis& a) { return a.numerator > at.options.level.max_scale * a.denominator; });
}

constexpr auto kResize = std::to_array<Rule>({
    {.id = "RESIZE.1", .must = "height and width of input and output must be below 16384", .broken = too_large},
    {.id = "RESIZE.2", .must = "scales must be positive", .broken = positive_scale},
    {.id = "RESIZE.3", .must = "the scale's numerator must be at most 2048", .broken = numerator},
    {.id = "RESIZE.4", .must = "the scale must be above 1/16", .broken = downscale},
    {.id = "RESIZE.5", .must = "the offset must be from -numerator to below 16 * numerator", .broken = offset},
    {.id = "RESIZE.6", .must = "the border must be from -16 * numerator to below numerator", .broken = border},
    {.id = "RESIZE.7",
     .must = "the output's size must be ((in - 1) * numerator - offset + border) / denominator + 1 without rest",
     .broken = output_size},
    {.id = "RESIZE.8",
     .must = "integers keep their type in mode NEAREST, and widen in mode BILINEAR",
     .broken = mode_type},
    {.id = "RESIZE.9", .must = "the scale must keep to the level's MAX_SCALE", .broken = level_scale},
});
constexpr auto kResizeFamily = std::to_array<OpRules>({{.op = TosaOp::RESIZE, .rules = kResize}});

}  // namespace

std::span<const OpRules> resize_rules() {
  return kResizeFamily;
}

}  // namespace carina::tosa
